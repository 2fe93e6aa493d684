# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A film of the twin from a recording: H.264 in MP4, its motion at most of a chosen length."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from safegen_ros.errors import SafegenError
from safegen_ros.record.mcap_reader import Recorded, read_messages
from safegen_ros.record.present.wording import CATEGORY_WORDS
from safegen_ros.record.run import ArtefactRecord
from safegen_ros.robot.arms.model import JOINT_NAMES, Joints
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene
from safegen_ros.robot.twin.render import Frame, Renderer
from safegen_ros.stages import ExecutionPhase
from safegen_ros.verdict import Category

FRAME_RATE = 15  # [1/s]; a picture takes a core 0.1 s without a GPU
MAX_LENGTH_S = 12.0  # of the motion
_CARD_S = 1.5  # of each attempt before the motion, and of the end
_MOST_CARDS = 4  # the last attempts
TOPICS = ('joint_states', 'world_state', 'attempts', 'progress')  # last parts of their names


Drawn = Callable[[int, int], None]


class VideoError(SafegenError):
    """A recording of which no video can be made."""


@dataclass(frozen=True, slots=True)
class VideoSample:
    """The cell at one moment.

    Attributes:
        time: simulated time from the first sample [s].
        joints: joint angles, shape (6,) [rad].
        poses: pose of each block by name.
        caption: what was going on, as text by title.
        opening: distance between the fingers of a gripper [m]; None of a cup.
    """

    time: float
    joints: Joints
    poses: dict[str, Pose]
    caption: Mapping[str, str] = field(default_factory=dict)
    opening: float | None = None


@dataclass(frozen=True, slots=True)
class Video:
    """A video that was made.

    Attributes:
        frames: number of pictures.
        length_s: playing time [s].
        speed: simulated seconds per second of video [1].
    """

    path: Path
    frames: int
    length_s: float
    speed: float


def samples_of(messages: Iterable[Recorded]) -> list[VideoSample]:
    """Joins joints and block poses of the same simulated time, in order.

    What counts is the last world of the twin: one with other blocks, or in older recordings one
    whose time starts again, is a new one.

    Args:
        messages: of the `TOPICS`, in the order of the recording.
    """
    joints: dict[int, tuple[Joints, float | None]] = {}
    poses: dict[int, dict[str, Pose]] = {}
    captions: dict[int, dict[str, str]] = {}
    caption: dict[str, str] = {}
    last = {'joint_states': -1, 'world_state': -1}
    for item in messages:
        kind = item.topic.rpartition('/')[2]
        if kind not in last:
            caption = _caption(kind, item.message, caption)
            continue
        stamp = _nanoseconds(item.message)
        values: dict[int, Any] = joints if kind == 'joint_states' else poses
        value: Any = _joints(item) if kind == 'joint_states' else _poses(item.message)
        others = kind == 'world_state' and value.keys() != poses.get(last[kind], value).keys()
        if stamp < last[kind] or others:
            values.clear()
        last[kind] = stamp
        values[stamp] = value
        captions[stamp] = caption
    common = sorted(joints.keys() & poses.keys())
    if common:
        captions[common[-1]] = caption  # the event of the end comes after the last sample
    return [
        VideoSample((t - common[0]) * 1e-9, joints[t][0], poses[t], captions[t], joints[t][1])
        for t in common
    ]


def _caption(kind: str, message: Any, before: Mapping[str, str]) -> dict[str, str]:
    """The caption that an event leads to."""
    if kind == 'attempts':
        caption = _attempt(message)
    elif message.phase == ExecutionPhase.MOVING:
        beside = getattr(message.current, 'beside', ())  # recordings of earlier versions have none
        actions = (message.current, *beside)
        step = ', '.join(' '.join((each.action, *each.arguments)) for each in actions)
        caption = {'step': f'{message.step + 1} of {message.total}: {step}'}
    elif message.phase == ExecutionPhase.DONE:
        caption = {'goal': f'reached in {message.total} steps, no rule broken'}
    else:  # nothing new to see
        caption = {**before}
    # The font of the renderer is ASCII, and a name may hold anything.
    return {title: line.encode('ascii', 'replace').decode() for title, line in caption.items()}


def _attempt(message: Any) -> dict[str, str]:
    verdict = message.verdict
    category = Category(verdict.category)
    who = f'attempt {message.number} by {message.source}'
    if category is Category.SUCCESS:
        return {'proved': who}
    steps = message.plan.steps
    at = ''
    if 0 <= verdict.failing_step < len(steps):
        step = steps[verdict.failing_step]
        words = ' '.join((step.action, *step.arguments))
        at = f' at step {verdict.failing_step + 1}: {words}'
    return {'refused': f'{who}: {CATEGORY_WORDS[category]}{at}'}


def _nanoseconds(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _joints(item: Recorded) -> tuple[Joints, float | None]:
    """The joints in the order of the arm, whatever that of the message, and the opening."""
    by_name = dict(zip(item.message.name, item.message.position, strict=True))
    missing = [name for name in JOINT_NAMES if name not in by_name]
    if missing:
        raise VideoError(f'{item.topic}: joint {missing[0]} is missing from a message')
    fingers = [by_name[name] for name in FINGER_JOINTS if name in by_name]
    return np.array([by_name[name] for name in JOINT_NAMES]), sum(fingers) if fingers else None


def _poses(message: Any) -> dict[str, Pose]:
    poses = {}
    for each in message.objects:
        p, q = each.pose.position, each.pose.orientation
        poses[each.name] = Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
    return poses


def attempts_of(messages: Iterable[Recorded]) -> list[dict[str, str]]:
    """The captions of the attempts before the first step."""
    found = []
    for item in messages:
        kind = item.topic.rpartition('/')[2]
        if kind == 'attempts':
            found.append(_caption(kind, item.message, {}))
        elif kind == 'progress' and item.message.phase == ExecutionPhase.MOVING:
            break
    return found


def recorded_messages(recording: Path) -> list[Recorded]:
    """The messages of a recording that a video shows.

    Raises:
        RecordError: the recording cannot be read.
    """
    return [m for m in read_messages(recording) if m.topic.rpartition('/')[2] in TOPICS]


def shown_samples(messages: Iterable[Recorded]) -> list[VideoSample]:
    """The samples in which blocks are in the cell.

    Raises:
        VideoError: there are none.
    """
    samples = [sample for sample in samples_of(messages) if sample.poses]
    if not samples:
        raise VideoError('the recording holds no joints and block poses of the same time')
    return samples


def frame_samples(
    samples: Sequence[VideoSample], max_length_s: float = MAX_LENGTH_S, speed: float = 1.0
) -> tuple[list[VideoSample], float]:
    """The sample that each picture of the video shows, and the speed-up that it takes.

    Args:
        samples: at least one, in order of time.
        max_length_s: longest playing time [s].
        speed: smallest speed-up [1].

    Raises:
        ValueError: the length or the speed is not above 0.
    """
    if not (max_length_s > 0 and speed > 0):
        raise ValueError('length and speed of a video must be above 0')
    times = [sample.time for sample in samples]
    chosen = max(speed, times[-1] / max_length_s)
    count = math.floor(times[-1] / chosen * FRAME_RATE + 1e-6) + 1
    indices = (bisect.bisect_right(times, k * chosen / FRAME_RATE + 1e-9) - 1 for k in range(count))
    return [samples[index] for index in indices], chosen


def write_mp4(frames: Iterable[Frame], path: Path, rate: int = FRAME_RATE) -> int:
    """Encode RGB pictures of one size, `rate` a second; returns how many there were.

    Raises:
        VideoError: there is no encoder, or it refuses.
    """
    count = 0
    try:
        with av.open(str(path), 'w', options={'movflags': 'faststart'}) as container:
            stream: Any = None
            for frame in frames:
                if stream is None:
                    stream = _stream(container, frame, rate)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format='rgb24')))
                count += 1
            if stream is not None:
                container.mux(stream.encode())
    except (av.FFmpegError, av.codec.codec.UnknownCodecError) as error:
        raise VideoError(f'{path}: cannot be encoded: {error}') from error
    return count


def _stream(container: Any, frame: Frame, rate: int) -> Any:
    """H.264 with sizes and colours that every player takes; two processors, as nodes may run."""
    stream = container.add_stream('libx264', rate=Fraction(rate))
    stream.height, stream.width = frame.shape[:2]
    stream.pix_fmt = 'yuv420p'
    stream.options = {'preset': 'veryfast', 'crf': '23'}
    stream.codec_context.thread_count = 2
    return stream


def render_video(
    recording: Path, target: Path, scene: Scene, drawn: Drawn = lambda done, total: None
) -> Video:
    """Make the video of a recording: each attempt, the motion, and the end for a moment.

    Args:
        recording: MCAP file with `joint_states` and `world_state`.
        target: MP4 file to write.
        drawn: called with the number of pictures that are drawn, and of all.

    Raises:
        VideoError: it holds no samples, or cannot be encoded.
        RenderError: nothing can be drawn here; the message names the package that helps.
        RecordError: the recording cannot be read.
    """
    messages = recorded_messages(recording)
    moving, factor = frame_samples(shown_samples(messages))
    still = round(_CARD_S * FRAME_RATE)
    chosen = [
        card
        for caption in attempts_of(messages)[-_MOST_CARDS:]
        for card in [replace(moving[0], caption=caption)] * still
    ]
    chosen += [*moving, *[moving[-1]] * still]
    partial = target.with_name('.' + target.name)
    try:
        count = write_mp4(_pictures(scene, chosen, drawn), partial)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return Video(target, count, count / FRAME_RATE, factor)


def _pictures(scene: Scene, samples: Sequence[VideoSample], drawn: Drawn) -> Iterator[Frame]:
    last, picture = None, None
    with Renderer(scene, samples[-1].poses) as renderer:
        for number, sample in enumerate(samples):
            drawn(number, len(samples))
            if sample is not last or picture is None:
                last = sample
                picture = renderer.frame(
                    sample.joints, sample.poses, sample.caption, opening=sample.opening
                )
            yield picture


def try_video(
    recording: Path, target: Path, scene: Scene, drawn: Drawn = lambda done, total: None
) -> ArtefactRecord:
    """As `render_video`; of a video that cannot be made the record says why."""
    try:
        video = render_video(recording, target, scene, drawn)
    except (SafegenError, OSError) as error:
        return ArtefactRecord('video', '', str(error))
    note = f'{video.length_s:.1f} s, {video.speed:.2g} times as fast as the arm'
    return ArtefactRecord('video', video.path.name, note)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the arm moved in a recorded run, so that it can be shown again at any time of it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from safegen_ros.record.json_form import RecordError
from safegen_ros.record.mcap_reader import read_messages
from safegen_ros.robot.pose import Pose
from safegen_ros.ros.conversions import pose_from_msg

PERIOD_S = 0.04
"""Shortest time between two samples [s]."""

MAX_SAMPLES = 30_000
"""Most samples of one recording; what comes after them is left out."""

_JOINTS, _WORLD, _PROGRESS = 'joint_states', 'world_state', 'executor/progress'


@dataclass(frozen=True, slots=True)
class RecordedSample:
    """The cell at a moment.

    Attributes:
        at: since the beginning of the recording of the motion [s].
        joints: in the order of `RecordedMotion.joint_names` [rad].
        blocks: the pose of each object that was measured, by its name.
    """

    at: float
    joints: tuple[float, ...]
    blocks: dict[str, Pose]
    step: int


@dataclass(frozen=True, slots=True)
class RecordedMotion:
    """The recorded motion.

    Attributes:
        samples: at least one, in order of time.
        whole: whether all of it is here, and nothing was left out at the end.
    """

    joint_names: tuple[str, ...]
    samples: tuple[RecordedSample, ...]
    whole: bool

    @property
    def seconds(self) -> float:
        """How long it lasts [s]."""
        return self.samples[-1].at

    def at(self, time: float) -> RecordedSample:
        """The last sample that is not after a time [s]; the first one before all of them."""
        index = bisect_right(self.samples, time, key=lambda sample: sample.at)
        return self.samples[max(0, index - 1)]


def load_motion(path: Path) -> RecordedMotion:
    """Reads the motion in a recording, from the first progress of an execution on.

    Raises:
        RecordError: it is not a recording, or no arm moved in it.
    """
    names: tuple[str, ...] = ()
    samples: list[RecordedSample] = []
    blocks: dict[str, Pose] = {}
    step, begun, whole = 0, -1, True
    try:
        for message in read_messages(path):
            topic, content = message.topic, message.message
            if topic.endswith(f'/{_PROGRESS}'):
                begun = message.time_ns if begun < 0 else begun
                step = content.step
            elif topic.endswith(f'/{_WORLD}'):
                blocks = {each.name: pose_from_msg(each.pose) for each in content.objects}
            elif topic.endswith(f'/{_JOINTS}') and begun >= 0:
                at = (message.time_ns - begun) / 1e9
                if samples and at - samples[-1].at < PERIOD_S:
                    continue
                if len(samples) == MAX_SAMPLES:
                    whole = False
                    break
                names = names or tuple(content.name)
                if tuple(content.name) != names:
                    raise RecordError(f'{path}: the joints change from {names} to {content.name}')
                samples.append(RecordedSample(max(0.0, at), tuple(content.position), blocks, step))
    except OSError as error:
        raise RecordError(f'{path}: cannot be read: {error.strerror}') from error
    if not samples:
        raise RecordError(f'{path}: no motion is recorded there')
    return RecordedMotion(names, tuple(samples), whole)

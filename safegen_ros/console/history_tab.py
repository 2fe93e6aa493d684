# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Past runs: shown again by a scrubber, two attempts beside each other, downloaded and shared."""

from __future__ import annotations

import contextlib
import threading
import time
from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from safegen_ros.console.shown import draw, panel
from safegen_ros.console.stage import CELL, REPLAY, Stage
from safegen_ros.console.widgets import Html, Parts, put
from safegen_ros.errors import RecordError, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.record.history import (
    SUCCESS,
    ListedRun,
    duration_s,
    find_run,
    list_runs,
    outcome_of,
)
from safegen_ros.record.mcap_reader import read_messages
from safegen_ros.record.present.cards import attempt_html, task_html
from safegen_ros.record.present.compare import compare_html
from safegen_ros.record.present.pictures import film_html, goal_html, is_blocksworld
from safegen_ros.record.present.runs import (
    WorldFrame,
    download,
    frames,
    problem_of,
    problem_of_attempt,
)
from safegen_ros.record.present.share import share_html
from safegen_ros.record.run import AttemptRecord
from safegen_ros.record.run_log import KeptRun
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.pose import Pose
from safegen_ros.ros.conversions import pose_from_msg

if TYPE_CHECKING:
    import viser

MOST_RUNS, ROWS = 50, 8
"""Runs that are looked through, the newest of all, and rows of the table."""

ANY, DONE, NOT_DONE = 'every run', 'done', 'not done'

PLAY_SPEED = 4.0
"""Recorded seconds per second while a run is played."""

_TICK_S = 0.1  # of the scrubber

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
    """

    joint_names: tuple[str, ...]
    samples: tuple[RecordedSample, ...]

    @property
    def seconds(self) -> float:
        """How long it lasts [s]."""
        return self.samples[-1].at

    def at(self, time: float) -> RecordedSample:
        """The last sample that is not after a time [s]; the first one before all of them."""
        index = bisect_right(self.samples, time, key=lambda sample: sample.at)
        return self.samples[max(0, index - 1)]


class _Row(NamedTuple):
    """A run in the table; the problem is None where it is not PDDL, or cannot be read."""

    name: str
    begun: str
    task: str
    outcome: str
    length: str
    problem: Problem | None

    def fits(self, text: str, which: str) -> bool:
        """Whether it is one of those that are searched for."""
        found = text in ' '.join((self.name, self.task, self.outcome)).casefold()
        return found and which in (ANY, DONE if self.outcome == SUCCESS else NOT_DONE)

    @property
    def picture(self) -> str:
        """The goal, where it can be drawn."""
        problem = self.problem
        return goal_html(problem) if problem is not None and is_blocksworld(problem) else ''


@dataclass(frozen=True, slots=True)
class _Open:
    """A run that is looked at."""

    folder: Path
    kept: KeptRun
    problem: Problem | None
    frames: tuple[WorldFrame, ...]
    films: tuple[str, ...]
    motion: RecordedMotion | None

    @property
    def length(self) -> float:
        """Of its motion [s]; where none was recorded, a step counts as a second."""
        if self.motion is not None:
            return round(max(self.motion.seconds, _TICK_S), 1)
        return float(max(len(self.frames) - 1, 1))


class HistoryTab:
    """The list of runs, and the one that is open.

    Args:
        parts: its parts; a tab of the page is open.
    """

    def __init__(self, parts: Parts, stage: Stage, root: Path) -> None:
        self._parts, self._stage, self._root = parts, stage, root
        self._lock = threading.Lock()
        self._runs: tuple[_Row, ...] = ()
        self._shown: tuple[_Row, ...] = ()
        self._looked: object = self  # other than any state
        self._open: _Open | None = None
        self._playing_since: float | None = None
        gui = parts.gui
        self._again = gui.add_button('Read the list again', color='gray')
        self._find = gui.add_text('Search', '', hint='in the id, the task and the outcome')
        self._which = gui.add_dropdown('Show', (ANY, DONE, NOT_DONE))
        self._table = Html(gui)
        self._pick = gui.add_button_group('Open run', ('1',), visible=False)
        self._summary = Html(gui)
        self._scrub = gui.add_slider('Moment', 0.0, 1.0, _TICK_S, 0.0, visible=False)
        self._play = gui.add_checkbox('Play', False, visible=False)
        self._moment = Html(gui)
        self._left = gui.add_dropdown('Compare', ('-',), visible=False)
        self._right = gui.add_dropdown('with', ('-',), visible=False)
        self._compared = Html(gui)
        self._attempt = Html(gui)
        self._save = gui.add_button('Download the record', color='gray', visible=False)
        self._share = gui.add_button('Share as one HTML file', color='gray', visible=False)
        self._close = gui.add_button('Close the run', color='gray', visible=False)
        self._again.on_click(lambda _: self.look())
        self._find.on_update(lambda _: self._list())
        self._which.on_update(lambda _: self._list())
        self._pick.on_click(lambda event: parts.doing(lambda: self._open_run(event.client)))
        self._scrub.on_update(lambda _: self._show_moment())
        self._play.on_update(lambda _: self._start())
        self._left.on_update(lambda _: self._compare())
        self._right.on_update(lambda _: self._compare())
        self._save.on_click(lambda event: parts.doing(lambda: self._download(event.client)))
        self._share.on_click(lambda event: parts.doing(lambda: self._shared(event.client)))
        self._close.on_click(lambda event: self._leave(event.client))

    def look(self) -> None:
        """Reads the list of runs again."""
        with self._lock:
            self._runs = tuple(map(_row, islice(list_runs(self._root), MOST_RUNS)))
        self._list()

    def _list(self) -> None:
        """Shows the runs that are searched for, each with a picture of its goal."""
        text, which = self._find.value.strip().casefold(), self._which.value
        with self._lock:
            fitting = [each for each in self._runs if each.fits(text, which)]
            self._shown = tuple(fitting[:ROWS])
        rows = [(each, each.picture) for each in self._shown]
        left = len(fitting) - len(rows)
        self._table.show(panel(draw('history', rows, left, bool(self._runs))))
        numbers = tuple(str(number) for number, _ in enumerate(rows, 1))
        put(self._pick, options=numbers or ('1',), visible=bool(numbers))

    def update(self, now: float, state: object) -> None:
        """Moves the scrubber, at `now` [s]; another `state` of the goals brings another list."""
        if state != self._looked:
            self._looked = state
            threading.Thread(target=self.look, daemon=True).start()
        run, since = self._open, self._playing_since
        if run is None or since is None:
            return
        moment = min((now - since) * PLAY_SPEED, run.length)
        put(self._scrub, value=round(moment / _TICK_S) * _TICK_S)
        if moment >= run.length:
            self._playing_since = None
            put(self._play, value=False)

    def _start(self) -> None:
        self._playing_since = time.monotonic() if self._play.value else None

    def _open_run(self, client: viser.ClientHandle | None) -> None:
        number = int(self._pick.value)
        if number > len(self._shown):
            return
        folder, kept = find_run(self._root, self._shown[number - 1].name)
        record, motion = kept.record, None
        problem = problem_of(record)
        with contextlib.suppress(SafegenError):  # a run without motion is shown by its states
            motion = load_motion(folder / 'run.mcap')
        seen = frames(problem, record) if problem is not None else ()
        films = film_html(problem, [each.state for each in seen]) if problem is not None else ()
        self._playing_since = None
        self._open = run = _Open(folder, kept, problem, seen, films, motion)
        why = '' if record.ok else record.message
        outcome = f'{outcome_of(kept)}: {why}' if why else outcome_of(kept)
        self._summary.show(panel(task_html(problem), f'How it ended: {outcome}'))
        moments = motion is not None or len(seen) > 1
        put(self._scrub, value=0.0, max=run.length, visible=moments)
        put(self._play, visible=moments, value=False)
        names = tuple(_attempt_name(each) for each in record.attempts) or ('-',)
        put(self._left, options=names, visible=len(names) > 1, value=names[0])
        put(self._right, options=names, visible=len(names) > 1, value=names[-1])
        put(self._save, visible=True)
        put(self._share, visible=True)
        put(self._close, visible=True)
        self._compare()
        self._show_moment()
        if client is not None and motion is not None:
            self._stage.views.show(client, REPLAY)

    def _show_moment(self) -> None:
        """Shows the moment of the scrubber, in the picture and on a table beside the cell."""
        run = self._open
        if run is None:
            return
        time_s = self._scrub.value
        step = min(int(time_s), max(0, len(run.frames) - 1))
        if run.motion is not None:
            sample = run.motion.at(time_s)
            step = min(sample.step, max(0, len(run.frames) - 1))
            angles = dict(zip(run.motion.joint_names, sample.joints, strict=True))
            joints = [angles[name] for name in JOINT_NAMES if name in angles]
            label = f'replay: {run.kept.record.run_id}, {time_s:.1f} s'
            full = len(joints) == len(JOINT_NAMES)
            self._stage.show_replay(label, joints if full else None, sample.blocks)
        if not run.frames:
            self._moment.show(panel('Its states cannot be shown.'))
            return
        frame = run.frames[step]
        what = f'{frame.step} of {len(run.frames) - 1} steps: {frame.text or "the start"}'
        when = f' at {time_s:.1f} s' if run.motion is not None else ''
        source = draw('note', f'{frame.source.value}{when}', 'sg-done')
        self._moment.show(panel(what, run.films[step], source))

    def _compare(self) -> None:
        run = self._open
        if run is None:
            self._compared.show('')
            self._attempt.show('')
            return
        attempts = {_attempt_name(each): each for each in run.kept.record.attempts}
        left, right = attempts.get(self._left.value), attempts.get(self._right.value)
        if left is None or right is None:
            self._compared.show('')
            self._attempt.show('')
            return
        problem = problem_of_attempt(run.kept.record, left.replan)
        if left is not right:
            self._compared.show(panel(compare_html(problem, left, right)))
        else:
            self._compared.show('')
        self._attempt.show(panel(attempt_html(left, problem)))

    def _download(self, client: viser.ClientHandle | None) -> None:
        run = self._open
        if run is not None and client is not None:
            name, data = download(run.folder, run.kept)
            client.send_file_download(name, data, save_immediately=True)

    def _shared(self, client: viser.ClientHandle | None) -> None:
        run = self._open
        if run is not None and client is not None:
            name = f'{run.kept.record.run_id}.html'
            page = share_html(run.folder, run.kept).encode()
            client.send_file_download(name, page, save_immediately=True)

    def _leave(self, client: viser.ClientHandle | None = None) -> None:
        """Closes the open run, and shows the cell again."""
        if self._open is not None and client is not None:
            self._stage.views.show(client, CELL)
        self._open, self._playing_since = None, None
        self._stage.hide_replay()
        for html in (self._summary, self._moment, self._compared, self._attempt):
            html.show('')
        for handle in (
            self._scrub, self._play, self._left, self._right, self._save, self._share, self._close,
        ):  # fmt: skip
            put(handle, visible=False)


def _row(run: ListedRun) -> _Row:
    if run.kept is None:
        return _Row(run.name, run.name, '', 'UNREADABLE', '', None)
    record, begun = run.kept.record, run.name
    with contextlib.suppress(ValueError):
        begun = f'{datetime.fromisoformat(record.started).astimezone():%d %b %Y %H:%M}'
    length = f'{duration_s(run.kept):.0f} s'
    outcome = outcome_of(run.kept)
    return _Row(run.name, begun, record.task.name, outcome, length, problem_of(record))


def _attempt_name(attempt: AttemptRecord) -> str:
    return f'{attempt.number} {attempt.source}: {attempt.verdict.category.name}'


def load_motion(path: Path) -> RecordedMotion:
    """Reads the motion in a recording, from the first progress of an execution on.

    Raises:
        RecordError: it is not a recording, or no arm moved in it.
    """
    names: tuple[str, ...] = ()
    samples: list[RecordedSample] = []
    blocks: dict[str, Pose] = {}
    step, begun = 0, -1
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
                    break
                names = names or tuple(content.name)
                if tuple(content.name) != names:
                    raise RecordError(f'{path}: the joints change from {names} to {content.name}')
                samples.append(RecordedSample(max(0.0, at), tuple(content.position), blocks, step))
    except OSError as error:
        raise RecordError(f'{path}: cannot be read: {error.strerror}') from error
    if not samples:
        raise RecordError(f'{path}: no motion is recorded there')
    return RecordedMotion(names, tuple(samples))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Poses from a perception system: which messages count.

The stamp of a message is when its picture was taken. A picture counts when it was taken after the
question, so a frozen camera, an old recording or a clock that is off never passes for the present.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.cell.settings import PerceptionSettings
from safegen_ros.robot.pose import Pose

FARTHEST_M = 5.0
"""A coordinate beyond this is not in metres [m]."""
KEPT = 200
"""Most pictures that are kept; more than a question ever needs."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What a perception system saw at one moment.

    Attributes:
        stamp: when, on the clock that questions are asked by [s]; 0 for unknown.
        flaw: what is wrong with the message; empty for nothing.
    """

    stamp: float
    poses: Mapping[str, Pose]
    flaw: str = ''


class Perception:
    """Takes pictures from one thread, and answers questions from others.

    Args:
        settings: when a picture counts.
        clock: by which pictures are stamped [s].
        silent: what to look at when nothing comes; the cure of that error.
    """

    def __init__(
        self,
        settings: PerceptionSettings,
        clock: Callable[[], float] = time.time,
        silent: Callable[[], str] = lambda: 'start it, and look at its topic',
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._silent = silent
        self._news = threading.Condition()
        self._pictures: list[Picture] = []
        self._last = -math.inf
        self._taken = 0
        self._flaw = (0, '')

    def take(self, picture: Picture) -> None:
        """Takes in one picture. One that does not count takes those before it away, too."""
        with self._news:
            self._taken += 1
            if flaw := self._judge(picture):
                self._flaw = (self._taken, flaw)
            else:
                self._pictures = [*self._pictures[-KEPT:], picture]
            self._news.notify_all()

    def _judge(self, picture: Picture) -> str:
        """What keeps a picture from counting; empty for nothing."""
        before, ahead = self._last, picture.stamp - self._clock()
        flaw = picture.flaw
        if flaw:
            pass
        elif picture.stamp <= 0:
            flaw = 'its messages have no time: fill in header.stamp with that of the picture'
        elif ahead > self.settings.perception_clock_tolerance:
            flaw = (
                f'its stamps are {_text(ahead)} s ahead of the clock of this computer: set both '
                'clocks by one time server'
            )
        elif picture.stamp == before:
            # The same picture once more says nothing new, and nothing against the ones before.
            return 'it repeats one picture, as a frozen camera does: look at the camera'
        else:
            self._last = picture.stamp
            if picture.stamp < before:
                flaw = (
                    f'its stamps went back by {_text(before - picture.stamp)} s: one node must '
                    'publish there, and its clock must not be set back'
                )
        if flaw:
            self._pictures = []
        return flaw

    def latest(self, age_s: float) -> Mapping[str, Pose]:
        """The poses of the last picture; none where it is older than that [s]."""
        with self._news:
            last = self._pictures[-1] if self._pictures else None
        if last is None or self._clock() - last.stamp > age_s:
            return {}
        return last.poses

    def look(self) -> list[Picture]:
        """Pictures that were all taken after this call, as many as one question needs.

        Raises:
            RobotError: `STATE_MISMATCH` with the reason when too few come in time.
        """
        asked, number = self._clock(), self.settings.perception_samples
        limit = self.settings.perception_timeout

        def new() -> list[Picture]:
            return [each for each in self._pictures if each.stamp > asked]

        with self._news:
            taken = self._taken
            if not self._news.wait_for(lambda: len(new()) >= number, limit):
                raise RobotError(self._why(asked, taken, len(new())), ErrorCode.STATE_MISMATCH)
            return new()[-number:]

    def _why(self, asked: float, taken: int, counted: int) -> str:
        """Why a question has no answer."""
        limit, number = self.settings.perception_timeout, self.settings.perception_samples
        if self._taken == taken:
            return f'the perception system has said nothing for {limit:g} s: {self._silent()}'
        if self._flaw[0] > taken:
            return f'the perception system cannot be believed: {self._flaw[1]}'
        if not counted:
            behind = asked + limit - self._last
            return (
                f'the perception system is late: its newest picture is {_text(behind)} s old: '
                'set both clocks by one time server, or raise perception_timeout'
            )
        return (
            f'the perception system is slow: {counted} of {number} pictures came within '
            f'{limit:g} s: raise perception_timeout, or lower perception_samples'
        )


def _text(seconds: float) -> str:
    return f'{seconds:.0f}' if seconds >= 10 else f'{seconds:.2g}'


def read_picture(stamp: float, frame: str, poses: Sequence[tuple[str, Pose]], base: str) -> Picture:
    """The picture of a message; names do not differ by case, as in PDDL.

    No frame is taken for `base`, in which the poses have to be.
    """
    named = {name.lower(): pose for name, pose in poses}
    if frame.lstrip('/') not in ('', base):
        return Picture(
            stamp,
            {},
            f'its poses are in the frame {frame[:60]!a}, and those of {base!a} are needed: '
            'transform them before they are published',
        )
    if len(named) != len(poses):
        names = [name.lower() for name, _ in poses]
        twice = ' '.join(sorted({name for name in names if names.count(name) > 1}))
        return Picture(stamp, {}, f'it names {twice[:60]} twice: give each object its own name')
    for name, pose in named.items():
        far = max((abs(value) for value in pose.position if math.isfinite(value)), default=0.0)
        if far > FARTHEST_M:
            return Picture(
                stamp,
                {},
                f'it has {name[:60]} {far:.4g} m away: publish metres, not millimetres',
            )
    return Picture(stamp, named)

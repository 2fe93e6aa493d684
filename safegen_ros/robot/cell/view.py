# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks that are not all in view: of a tower only the top is seen, until it is looked at.

What a block stands on is known once its tower was looked at from the side, or the arm has put it
there. The reported places of the other blocks are those of the task, as far as they fit the view.
No action is taken on a guess: neither its blocks nor those of a constraint may be out of view.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.robot.cell.execution import Cell
from safegen_ros.robot.cell.settings import ALL

"""All blocks are in view, or of each tower the top one until it is looked at."""

_TABLE = ''


class ViewedCell:
    """A cell of Blocksworld that reports only the blocks in view.

    Args:
        view: one of `settings.VIEWS`.
        watched: the blocks that constraints are about, without which nothing is moved.
        start: how the blocks stand, whatever a task says; None where they stand as it says.
        glance: the work before a look from the side, such as moving the arm out of the way.
    """

    def __init__(
        self,
        cell: Cell,
        view: str,
        watched: Collection[str] = (),
        start: State | None = None,
        glance: Callable[[], None] = lambda: None,
    ) -> None:
        self.cell = cell
        self._view, self._watched = view, frozenset(watched)
        self._start, self._glance = start, glance
        self._nobody_looks = False
        self._prior: dict[str, str] = {}
        self._seen: set[str] = set()
        self.unseen: tuple[str, ...] = ()

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Sets the blocks up as they stand, and forgets earlier views."""
        stands = init if self._start is None else self._start
        others = {name for atom in stands for name in atom[1:]} ^ set(objects)
        if others:
            raise RobotError(
                f'the blocks on the table are not those of the task: {" ".join(sorted(others))} '
                'is only there or only here: send a task with the blocks on the table',
                ErrorCode.UNSUPPORTED_SCENE,
            )
        self._prior, self._seen = _supports(init), set()
        self.cell.prepare(objects, stands)
        self.observe()

    def execute(self, action: str, arguments: Sequence[str]) -> None:
        """Executes one action; its effect is seen.

        Raises:
            RobotError: a block of it, or of a constraint, is out of view (`UNSUPPORTED_SCENE`), and
                as the cell does.
        """
        self.observe()
        self._require_in_view(arguments)
        self.cell.execute(action, arguments)
        self._seen.update(arguments[:1])

    def look(self, name: str) -> None:
        """Looks at the tower of a block that is in view, from the side."""
        state = self.cell.observe()
        if ('clear', name) not in state:
            raise RobotError(
                f'{name[:40]!a} is not the top of a tower, and cannot be looked at: name one that '
                'is in view',
                ErrorCode.UNSUPPORTED_SCENE,
            )
        self._glance()
        supports = _supports(state)
        while name != _TABLE and name in supports:
            self._seen.add(name)
            name = supports[name]
        self.believed(state)

    def expect_no_look(self) -> None:
        """From now on whole plans are executed, without an observation before each step.

        The objects of constraints must be in view all the while: a guess that breaks one would be
        taken for an observation.
        """
        self._nobody_looks = True

    def observe(self) -> State:
        """The facts that hold, as far as they are in view, and the assumed rest.

        Raises:
            RobotError: the world is not observed, and a block of a constraint is out of view
                (`UNSUPPORTED_SCENE`); and as the cell does.
        """
        told = self.believed(self.cell.observe())
        if self._nobody_looks:
            self._require_in_view(())
        return told

    def _require_in_view(self, names: Sequence[str]) -> None:
        hidden = sorted((self._watched | set(names)) & set(self.unseen))
        if hidden:
            raise RobotError(
                f'{" ".join(hidden)} is out of view, and nothing moves on a guess: work on the '
                'task step by step, which looks first',
                ErrorCode.UNSUPPORTED_SCENE,
            )

    def believed(self, state: State) -> State:
        """The reported facts where a state holds; notes what is out of view in it."""
        supports = _supports(state)
        known = {
            name: below
            for name, below in supports.items()
            if self._view == ALL or name in self._seen
        }
        self._seen &= set(supports) | {atom[1] for atom in state if atom[0] == 'holding'}
        tops = [atom[1] for atom in sorted(state) if atom[0] == 'clear' and atom[1] in supports]
        self.unseen = tuple(sorted(set(supports) - set(known)))
        kept = {atom for atom in state if atom[0] not in ('on', 'on-table')}
        full = _completed(known, tops, self.unseen, self._prior)
        return frozenset(kept) | frozenset(
            ('on-table', name) if below == _TABLE else ('on', name, below)
            for name, below in full.items()
        )

    def stop(self) -> None:
        """Stops the cell."""
        self.cell.stop()

    def reset_stop(self) -> None:
        """Allows motion again."""
        self.cell.reset_stop()


def _supports(state: State) -> dict[str, str]:
    """What each block that is not held stands on."""
    found = {atom[1]: _TABLE for atom in state if atom[0] == 'on-table'}
    return found | {atom[1]: atom[2] for atom in state if atom[0] == 'on'}


def _completed(
    known: dict[str, str], tops: Sequence[str], unseen: Sequence[str], prior: dict[str, str]
) -> dict[str, str]:
    """What each block stands on: as is known, else as was believed, else below a tower's end."""
    full = dict(known)
    ends = []
    for name in tops:
        while full.get(name, _TABLE) != _TABLE:
            name = full[name]
        if name not in full:
            ends.append(name)
    hidden = [name for name in unseen if name not in ends]
    last = _TABLE
    for name in ends:
        last = name
        while (below := prior.get(last, _TABLE)) in hidden:
            hidden.remove(below)
            full[last] = last = below
        full[last] = _TABLE
    for name in hidden:  # somewhere below a top that was not looked under
        full[last] = name
        full[name], last = _TABLE, name
    return full

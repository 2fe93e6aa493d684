# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: fault, phase and transport, and what each row must come to.

Whatever fails, these hold: motion ends within the bound, the stop is latched also for an executor
that is started again, the client is told why, the record is whole, nothing moves or is powered
before a reset, and the next goal is carried out after it.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from safegen_ros.client import Goal, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan
from safegen_ros.record.history import CUT_OFF, RUNNING, list_runs, outcome_of
from safegen_ros.robot.agent.messages import BEAT_S
from safegen_ros.robot.emulator.faults import KNOBS, ArmFault
from safegen_ros.ros.liveness import PERIOD_S
from support.fault_stack import (
    HEARTBEAT_S,
    LINK_S,
    PICK,
    SERIAL,
    SSH,
    SUPERVISED_TWIN,
    TCP,
    TOWER,
    TRANSPORTS,
    TWIN,
    Stack,
)
from support.goals import WAIT_S, Feedback
from support.stopping import STOPPED, execution
from support.waiting import wait_until
from support.watched_executor import BLOCK_MOVED, OBSTRUCTED

WAITING, MOVING, HOLDING = PHASES = ('waiting', 'moving', 'holding')
"""For an operator's approval; in the first step; in the second one, with a block at the tool."""

SLACK_S = 0.75
"""Beside each bound: the way of the stop, two processes' turns, and the arm's own way to rest. The
time for which the test's own process was held up comes to it."""

MOTION_S = 6.0
"""Bound where only measured joints tell: the driver gives a motion twice its time and 3 s."""

#: A joint has moved so far when a phase counts as moving [rad].
FAR = 0.05


CLIENT = """
import sys
from safegen_ros.client import Client, Options

def say(*words):  # each line at once, as two threads write
    sys.stdout.write(' '.join(map(str, words)) + '\\n')
    sys.stdout.flush()

def tell(f):
    part = f.execution if f.stage == 'execution' else f.planning
    say('at', f.stage, part.phase, getattr(part, 'step', 0))

problem, phase = sys.argv[1:]
options = Options(strategy='search', approval=phase == 'waiting')
with Client() as client:
    goal = client.start_run(problem, options=options, on_feedback=tell)
    say('goal', goal.id)
    goal.result()
"""
"""A client in a separate process, which gets a problem and a phase to wait in."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind of fault.

    Attributes:
        strike: lets it begin.
        bound_s: longest time from then to the end of all motion, beside the slack [s].
        codes: with which the goal ends.
        cause: pattern of the message.
        transports: where it can happen.
        phases: in which it is one.
        node: that is killed or frozen; empty for none, `client` for the sender.
        freezes: whether it goes on after the goal has ended.
        sags: whether servos do not hold then: the arm sinks, and only commands are judged.
        ends: lets it be gone, where repairing arm and nodes does not do that.
    """

    strike: Callable[[Stack], object]
    bound_s: float
    codes: tuple[ErrorCode, ...]
    cause: str
    transports: tuple[str, ...] = TRANSPORTS
    phases: tuple[str, ...] = PHASES
    node: str = ''
    freezes: bool = False
    sags: bool = False
    ends: Callable[[Stack], object] = lambda stack: None


_FAULT = (ErrorCode.ROBOT_FAULT,)
_LOST = (ErrorCode.ARM_UNREACHABLE,)
_ARM = (SERIAL, TCP, SSH)
_IN_MOTION = (MOVING, HOLDING)
_WATCHDOG_S = HEARTBEAT_S + 2 * PERIOD_S
_AGENT_S = LINK_S + 2 * BEAT_S


def _arm(name: str, codes: tuple[ErrorCode, ...], cause: str, **more: object) -> Fault:
    def strike(stack: Stack) -> None:
        assert stack.site is not None
        value = 1.0 if name == 'jump' else KNOBS[name].default
        stack.site.emulator.strike(ArmFault(name, value))

    fields = {'phases': _IN_MOTION, 'transports': _ARM, **more}
    return Fault(strike=strike, bound_s=MOTION_S, codes=codes, cause=cause, **fields)  # type: ignore[arg-type]


def _link(name: str, bound_s: float, *transports: str) -> Fault:
    def strike(stack: Stack) -> None:
        assert stack.site is not None
        stack.site.strike(name, stack.nodes.pid('executor'))

    return Fault(
        strike=strike, bound_s=bound_s, codes=_LOST, cause='the link to the agent', node='',
        transports=transports or _ARM, phases=_IN_MOTION,
    )  # fmt: skip


def _node(
    node: str, freezes: bool, bound_s: float, codes: tuple[ErrorCode, ...], cause: str
) -> Fault:
    def strike(stack: Stack) -> None:
        (stack.nodes.pause if freezes else stack.nodes.kill)(node)

    return Fault(
        strike=strike, bound_s=bound_s, codes=codes, cause=cause, node=node, freezes=freezes
    )


def _client(freezes: bool) -> Fault:
    codes = (ErrorCode.EXECUTION_STOPPED, ErrorCode.EXECUTION_CANCELED, ErrorCode.PLANNING_CANCELED)
    return Fault(
        strike=lambda stack: None,  # its driver has the process
        bound_s=2 * _WATCHDOG_S, codes=codes, cause='heartbeat', node='client', freezes=freezes,
    )  # fmt: skip


def _strike_twin(what: str, stack: Stack) -> None:
    (stack.folder / 'strike').write_text(what)


def _obstruct(stack: Stack) -> None:
    if stack.site is None:
        _strike_twin(OBSTRUCTED, stack)
    else:
        stack.site.emulator.firmware.stop_joint(1, 0, broken=False)


def _store(stack: Stack) -> Path:
    (store,) = (path for path in stack.folder.glob('**/executors/*') if path.is_dir())
    return store


def _block_store(stack: Stack) -> None:
    store = _store(stack)
    store.rename(store.with_name('aside'))
    store.write_text('a file where the folder was')


def _unblock_store(stack: Stack) -> None:
    aside = next(stack.folder.glob('**/executors/aside'))
    (store,) = (path for path in aside.parent.iterdir() if path.is_file() and not path.suffix)
    store.unlink()
    shutil.move(aside, store)


_GONE = (ErrorCode.EXECUTOR_UNAVAILABLE,)
_UNWATCHED = (ErrorCode.EXECUTION_STOPPED, ErrorCode.VALIDATOR_UNAVAILABLE)
_UNHEARD = (ErrorCode.SERVER_LOST,)

FAULTS: dict[str, Fault] = {
    'power_off': _arm('power_off', _FAULT, 'no power', phases=PHASES, sags=True),
    'servo_error': _arm('servo_error', _FAULT, 'joint2|error|servo', sags=True),
    'limit_stop': _arm('limit_stop', _FAULT, 'joint3|error|limit'),
    'frozen': _arm('frozen', _FAULT, 'from its target|way'),
    'constant': _arm('constant', (*_LOST, *_FAULT), 'all joints read'),
    'jump': _arm('jump', (*_LOST, *_FAULT), 'jumps by|cannot reach|way'),
    'silent': _arm('silent', _LOST, 'cannot be read|does not answer|no answer|confirmed'),
    'unplugged': _arm('unplugged', _LOST, 'plug|cable|network|server', phases=PHASES),
    'obstruction': Fault(
        strike=_obstruct, bound_s=MOTION_S, codes=_FAULT, cause='from its target|collision',
        phases=_IN_MOTION,
    ),
    'block_moved': Fault(
        strike=partial(_strike_twin, BLOCK_MOVED), bound_s=MOTION_S,
        codes=(ErrorCode.STATE_MISMATCH, ErrorCode.ROBOT_FAULT), cause='a',
        transports=(TWIN,), phases=(MOVING,),
    ),
    'mover_killed': _link('mover_killed', 2 * BEAT_S),
    'mover_frozen': _link('mover_frozen', _AGENT_S),
    'guard_killed': _link('guard_killed', 2 * BEAT_S),
    'guard_frozen': _link('guard_frozen', _AGENT_S),
    'cable_cut': _link('cable_cut', _AGENT_S, SSH),
    'server_killed': _link('server_killed', 2 * BEAT_S, SSH),
    'executor_killed': _node('executor', False, 2 * BEAT_S, _GONE, 'executor'),
    'executor_frozen': _node('executor', True, max(_AGENT_S, 2 * PERIOD_S), _GONE, 'executor'),
    'planner_killed': _node('planner', False, _WATCHDOG_S, _UNHEARD, 'heartbeat'),
    'planner_frozen': _node('planner', True, _WATCHDOG_S, _UNHEARD, 'heartbeat'),
    'validator_killed': _node('validator', False, _WATCHDOG_S, _UNWATCHED, 'validator'),
    'validator_frozen': _node('validator', True, _WATCHDOG_S, _UNWATCHED, 'validator'),
    'supervisor_killed': Fault(
        strike=lambda stack: stack.nodes.kill('supervisor'), bound_s=2 * PERIOD_S,
        codes=(
            *STOPPED, *_GONE, *_UNHEARD, ErrorCode.EXECUTION_CANCELED, ErrorCode.PLANNING_CANCELED
        ),
        cause='supervisor|heartbeat|executor|validator|was deactivated or ended', node='supervisor',
        transports=(SUPERVISED_TWIN,),
    ),
    'supervisor_frozen': Fault(
        strike=lambda stack: stack.nodes.pause('supervisor'), bound_s=_WATCHDOG_S,
        codes=(ErrorCode.EXECUTION_STOPPED,), cause='supervisor', node='supervisor', freezes=True,
        transports=(SUPERVISED_TWIN,), phases=_IN_MOTION,
    ),
    'client_killed': _client(False),
    'client_frozen': _client(True),
    'operator_stop': Fault(
        strike=lambda stack: stack.operator.call('stop'), bound_s=0.0, codes=STOPPED,
        cause='service stop',
    ),
    'store_unwritable': Fault(
        strike=_block_store, ends=_unblock_store, bound_s=2 * PERIOD_S,
        codes=(ErrorCode.EXECUTION_STOPPED,), cause='release|stored', phases=_IN_MOTION,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A row of the matrix."""

    fault: str
    phase: str
    transport: str

    @property
    def latches(self) -> bool:
        """Whether it is a stop: also before the motion, unless only a process is lost there."""
        return self.phase != WAITING or not FAULTS[self.fault].node


MATRIX = tuple(
    Row(name, phase, transport)
    for name, fault in FAULTS.items()
    for phase in fault.phases
    for transport in fault.transports
)

EVERY_DAY = frozenset({Row('executor_frozen', MOVING, TWIN), Row('validator_killed', MOVING, TWIN)})
"""A node killed, a node frozen. The others are marked `nightly`; by day test_supervisor.py kills a
supervisor, test_real_arm.py pulls a serial cable, test_ssh_link.py cuts a network, and
test_watchdog.py and test_stop_latch.py have the rules."""


def matrix(transport: str) -> pytest.MarkDecorator:
    """Parametrizes a test with the rows of a transport."""
    return pytest.mark.parametrize('row', list(_marked(transport)))


def _marked(transport: str) -> Iterable[object]:
    for row in MATRIX:
        if row.transport == transport:
            marks = () if row in EVERY_DAY else pytest.mark.nightly
            yield pytest.param(row, id=f'{row.fault}-{row.phase}', marks=marks)


class Sender:
    """Who has sent the goal: the client of the stack, or a separate process."""

    def __init__(self, stack: Stack, phase: str, own_process: bool) -> None:
        self._phase = phase
        self._goal: Goal | None = None
        self.process: subprocess.Popen[str] | None = None
        self._feedback = Feedback(self._reached)
        if own_process:
            self.process = subprocess.Popen(
                [sys.executable, '-c', CLIENT, TOWER, phase],
                stdout=subprocess.PIPE,
                text=True,
            )
            self.id = self._line('goal ')
            return
        options = Options(strategy='search', approval=phase == WAITING)
        self._goal = stack.client.start_run(TOWER, options=options, on_feedback=self._feedback)
        self.id = self._goal.id

    def _line(self, begin: str) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(begin):
                return line.removeprefix(begin).strip()
        raise AssertionError(f'the client has ended without {begin!r}')

    def _reached(self, feedback: object) -> bool:
        if self._phase == WAITING:
            return getattr(feedback, 'stage', '') == 'approval'
        return execution('moving', 0 if self._phase == MOVING else 1)(feedback)

    def wait(self) -> None:
        """Waits until the phase has begun."""
        if self.process is None:
            self._feedback.wait()
        elif self._phase == WAITING:
            self._line('at approval')
        else:
            self._line(f'at execution moving {0 if self._phase == MOVING else 1}')

    def strike(self, freezes: bool) -> None:
        """Ends or freezes the process."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP if freezes else signal.SIGKILL)

    def told(self) -> tuple[ErrorCode, str]:
        """Why the goal has ended, as the client hears it."""
        assert self._goal is not None
        try:
            result = self._goal.result()
        except SafegenError as error:
            return error.code, error.message
        return ErrorCode(result.error_code), result.error_msg

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(WAIT_S)
            assert self.process.stdout is not None
            self.process.stdout.close()


def check(stack: Stack, row: Row) -> None:
    """Carries a row out."""
    fault = FAULTS[row.fault]
    stack.set_up()
    stack.watch.begin()
    sender = Sender(stack, row.phase, own_process=fault.node == 'client')
    try:
        since = _struck(stack, row, fault, sender)
        if row.phase == WAITING and sender.process is None:
            _approve(stack)
        message = ''
        if sender.process is None:
            code, message = sender.told()
            assert code in fault.codes, f'{code.name}: {message}'
            assert re.search(fault.cause, message), message
        frozen = bool(stack.nodes.paused)
        if frozen:
            if stack.site is None and fault.node == 'executor':
                since = time.monotonic()  # a frozen twin moves nothing, and stops when it goes on
            stack.nodes.resume()
        if row.latches:
            wait_until(lambda: _stopped(stack), 'the stop')
            _assert_refused(stack)
        _mend(stack, fault)
        if row.latches and (fault.freezes or fault.node not in ('executor', 'supervisor')):
            stack.restart('executor')  # those that were killed are started again already
            _assert_refused(stack)
        _assert_held(stack, row, fault, since)
        stack.operator.reset()
        _assert_recorded(stack, sender.id, fault)
        _assert_works(stack)
    finally:
        sender.close()
        _mend(stack, fault)
        wait_until(lambda: stack.operator.call('reset').success, 'the reset', 0.2)


def _struck(stack: Stack, row: Row, fault: Fault, sender: Sender) -> float:
    """Lets the fault begin in its phase; returns when [s]."""
    sender.wait()
    if row.phase != WAITING:
        stack.watch.begin()
        try:
            wait_until(lambda: stack.watch.travelled() > FAR, 'the arm moves')
        except AssertionError:
            told = sender.told() if sender.process is None else ''
            raise AssertionError(f'the arm does not move: {told}') from None
    if row.phase == HOLDING:
        assert stack.watch.tool_on()
    since = time.monotonic()
    sender.strike(fault.freezes)
    fault.strike(stack)
    return since


def _approve(stack: Stack) -> None:
    """An operator approves of the plan, where anybody is left to be told so."""
    with suppress(SafegenError):
        pending = stack.approver.wait(2.0)
        if pending is not None:
            stack.approver.say(pending.digest, True, 'a test', '', 2.0)


def _stopped(stack: Stack) -> bool:
    """Whether the stop is on the topic; an executor that is gone says so when it is back."""
    stack.nodes.mend(stack.client)
    return bool(stack.operator.listener.reason)


def _assert_refused(stack: Stack) -> None:
    """No goal is taken, and no stop has ended by itself."""
    wait_until(lambda: bool(stack.operator.listener.reason), 'the stop on the topic')
    result = stack.client.execute(TOWER, Plan())
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED, result.error_msg
    assert "'safegen reset'" in result.error_msg


def _mend(stack: Stack, fault: Fault) -> None:
    """The fault is gone; whatever was stopped stays so."""
    if stack.site is not None:
        stack.site.repair()
    with suppress(StopIteration):  # it is gone already
        fault.ends(stack)
    stack.nodes.mend(stack.client)


def _assert_held(stack: Stack, row: Row, fault: Fault, since: float) -> None:
    """Nothing has moved after the bound, up to now, in any process."""
    motions = stack.watch.motions()
    slack_s = SLACK_S + stack.watch.held_up_s
    if row.phase == WAITING and not fault.sags:
        assert stack.watch.travelled() < FAR, 'the arm has moved'
    ended_s = motions[0].ended(since)
    print(f'{row}: motion ended after {ended_s:.2f} s, bound {fault.bound_s:g} + {slack_s:.2f}')
    assert fault.sags or ended_s <= fault.bound_s + slack_s
    for later in motions[1:]:
        assert later.ended(0.0) == 0.0, 'a new process has moved before the reset'
    # Until a watchdog's time is over the plan goes on, and may put the block down.
    if row.phase == HOLDING and fault.node in ('', 'executor', 'supervisor') and not fault.freezes:
        assert stack.watch.tool_on(), 'the block was let go'
    if stack.site is not None:
        emulator = stack.site.emulator
        assert emulator.last_motion <= since + fault.bound_s + slack_s
        assert emulator.last_rearming <= since, 'powered, or an error cleared, before the reset'


def _assert_recorded(stack: Stack, goal: str, fault: Fault) -> None:
    """The record of the goal opens, and says how it ended."""

    def outcome() -> str:
        runs = list(list_runs(stack.nodes.runs))
        assert [run.error for run in runs if run.kept is None] == []
        (kept,) = (
            run.kept for run in runs if run.kept and goal in {each.id for each in run.kept.goals}
        )
        return outcome_of(kept)

    wait_until(lambda: outcome() != RUNNING, 'the end of the record', 0.2)
    outcomes = {code.name for code in fault.codes}
    if fault.codes == _UNHEARD:  # the planner itself could not write it down, or only later
        outcomes = {CUT_OFF, *(code.name for code in STOPPED), 'PLANNING_CANCELED'}
    elif fault.node == 'supervisor':
        outcomes |= {CUT_OFF, 'PLANNING_CANCELED'}
    assert outcome() in outcomes


def _assert_works(stack: Stack) -> None:
    stack.set_up()
    result = stack.client.run(PICK, options=Options(strategy='search'))
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg

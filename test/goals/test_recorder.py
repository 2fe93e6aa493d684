# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The record of a run against what was heard of it, and however it ends."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from rich.console import Console
from sensor_msgs.msg import JointState

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_ros.cli import display
from safegen_ros.cli.demo import kept_run, result_of
from safegen_ros.cli.display import RunDisplay
from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goals import recorder as session_module
from safegen_ros.goals.recorder import RunRecorder, RunStage
from safegen_ros.goals.request import GoalCheck, GoalRequest, check_goal
from safegen_ros.record import events, video
from safegen_ros.record.journal import JOURNAL, JournalEntry, load_journal
from safegen_ros.record.run import ReplanRecord, RunRecord
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import record_conversions
from safegen_ros.schema import plain
from safegen_ros.tasks.pddl3.cells import CellChoice
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category

TASK = load_task("""
(define (problem two) (:domain blocksworld) (:objects a b)
  (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b))
  (:goal (on a b)))""")
STEPS = [
    msg.Step(action='pickup', arguments=['a']),
    msg.Step(action='stack', arguments=['a', 'b']),
]
PLAN = ('(pickup a)', '(stack a b)')


@pytest.fixture
def session(tmp_path: Path) -> RunRecorder:
    return RunRecorder(tmp_path, TASK, 'two.pddl', '')


def _attempt(number: int, category: Category, source: str = 'model') -> msg.Attempt:
    ok = category is Category.SUCCESS
    return msg.Attempt(
        number=number,
        source=source,
        text=' '.join(PLAN) if ok else 'hm',
        plan=msg.Plan(steps=STEPS if ok else [], source=source),
        verdict=msg.Verdict(category=int(category), failing_step=-1, reason='because'),
    )


WRONG = _attempt(1, Category.FORMAT_ERROR)
RIGHT = _attempt(2, Category.SUCCESS, 'search')


GOAL, EXECUTION, SECOND = '0a' * 16, '0b' * 16, '0c' * 16


def _publish(session: RunRecorder, message: msg.RunEvent) -> None:
    """Brings a message to the recorder by a subscription as it makes it."""
    heard: list[Any] = []
    node = SimpleNamespace(
        create_subscription=lambda kind, topic, take, profile: heard.append(take)
    )
    record_conversions.hear_events(node, session._heard_event)
    heard[0](message)


def _hear(session: RunRecorder, goal: str, *heard: events.Event) -> None:
    """What a node publishes, as the client of the recorder receives it."""
    for number, event in enumerate(heard):
        data = {'goal_id': goal, **plain(event)}
        entry = JournalEntry(number, '2026-11-25T12:00:00.5+00:00', events.KINDS[type(event)], data)
        _publish(session, record_conversions.entry_to_msg(entry))


def _sent(session: RunRecorder) -> RunRecorder:
    session.accepted(GOAL)
    return session


def _result(code: ErrorCode = ErrorCode.NONE, message: str = '', done: int = 2) -> RunTask.Result:
    return RunTask.Result(
        error_code=int(code),
        error_msg=message,
        plan=RIGHT.plan,
        verdict=RIGHT.verdict,
        attempts=[WRONG, RIGHT],
        steps_done=done,
    )


def _attempted(attempt: msg.Attempt) -> events.Event:
    return record_conversions.attempt_record(attempt)


def _execution(goal: str, *steps: int) -> list[tuple[str, events.Event]]:
    told: list[tuple[str, events.Event]] = []
    for number, index in enumerate(steps):
        told.append((goal, events.StepEvent(number, PLAN[index], number + 0.5)))
        told.append((goal, events.ObservedEvent(number + 1, number + 1.0)))
    return told


def test_a_proved_plan_is_known_before_the_result_and_without_it(session: RunRecorder) -> None:
    _hear(session, GOAL, _attempted(WRONG))  # before the goal is known to be ours
    assert session.record.attempts == ()
    _sent(session)
    assert session.record.plan == ()
    _hear(session, GOAL, _attempted(RIGHT))
    # The executor is heard before the planner has said whose execution it is.
    _hear(session, EXECUTION, events.StepEvent(0, PLAN[0], 0.5), events.ObservedEvent(1, 1.0))
    _hear(session, SECOND, events.StepEvent(0, PLAN[0], 0.5))  # of another goal
    _hear(session, GOAL, events.GoalEvent('execute_plan', EXECUTION))
    _hear(session, EXECUTION, events.StepEvent(1, PLAN[1], 1.5))
    session.end(ErrorCode.SERVER_LOST, 'gone')
    record = session.record
    assert [a.number for a in record.attempts] == [1, 2]
    assert (record.plan, record.plan_source, record.steps_done) == (PLAN, 'search', 1)
    assert [s.step for s in record.steps] == list(PLAN)
    assert [s.seconds is None for s in record.steps] == [False, True]


def test_the_steps_of_a_second_execution_are_counted_on(session: RunRecorder) -> None:
    _sent(session)
    _hear(session, GOAL, events.GoalEvent('execute_plan', EXECUTION))
    for goal, event in _execution(EXECUTION, 0):
        _hear(session, goal, event)
    _hear(session, EXECUTION, events.EndEvent(ErrorCode.STATE_MISMATCH, 'it differs'))
    _hear(session, GOAL, ReplanRecord(1, 'it differs', 1, '', ''))
    _hear(session, GOAL, events.GoalEvent('execute_plan', SECOND))
    for goal, event in _execution(SECOND, 1):
        _hear(session, goal, event)
    record = session.record
    assert [(s.index, s.step, s.begun_s) for s in record.steps] == [
        (0, PLAN[0], 0.5),
        (1, PLAN[1], 1.5),
    ]
    assert (record.steps_done, len(record.replans), record.error_code) == (2, 1, ErrorCode.UNKNOWN)


def test_the_end_of_every_part_is_awaited_before_the_record_ends(session: RunRecorder) -> None:
    _sent(session)
    _hear(session, GOAL, _attempted(RIGHT), events.GoalEvent('execute_plan', EXECUTION))
    end = events.EndEvent(ErrorCode.NONE, '')

    def late() -> None:
        for goal, event in [*_execution(EXECUTION, 0, 1), (EXECUTION, end), (GOAL, end)]:
            _hear(session, goal, event)

    hearing = threading.Thread(target=late)
    hearing.start()
    session.finish(_result())
    hearing.join()
    assert [s.seconds is not None for s in session.record.steps] == [True, True]
    _hear(session, GOAL, _attempted(WRONG))  # of a moment after the end
    assert [a.number for a in session.record.attempts] == [2]
    session.close()
    entries = load_journal(session.folder / JOURNAL)
    assert [entry.kind for entry in entries].count('end') == 1


def test_a_message_of_another_version_changes_nothing(session: RunRecorder) -> None:
    _sent(session)
    for kind, data in (('', ''), ('attempt', '[]'), ('attempt', '{}'), ('dream', '{}')):
        _publish(session, msg.RunEvent(kind=kind, data=data))
    assert session.record.attempts == ()


def test_no_change_of_the_record_is_lost_between_two_threads(
    session: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 20
    pause = threading.Event()

    def slow(record: RunRecord, event: events.Event) -> RunRecord:
        pause.wait(0.002)  # lets the other thread in between reading the record and writing it
        return advance(record, event)

    def hear() -> None:
        for number in range(1, count + 1):
            _hear(session, GOAL, _attempted(_attempt(number, Category.FORMAT_ERROR)))

    _sent(session)
    advance = events.advance
    monkeypatch.setattr(events, 'advance', slow)
    hearing = threading.Thread(target=hear)
    hearing.start()
    while hearing.is_alive():
        session.measured(GoalCheck({}, (('(on a b)', True),)))
    hearing.join()
    assert len(session.record.attempts) == count
    assert session.record.reached


def test_a_stack_that_fell_silent_is_awaited_no_longer_than_said(
    session: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, 'MATCH_TIMEOUT_S', 0.01)
    _sent(session).finish(_result(ErrorCode.PLANNING_TIMEOUT, 'late', done=0))
    assert session.record.message == 'late'


@pytest.mark.parametrize(('heard', 'arrived'), [(None, False), (1, False), (2, True)])
def test_joints_of_an_earlier_moment_are_none(
    session: RunRecorder, monkeypatch: pytest.MonkeyPatch, heard: int | None, arrived: bool
) -> None:
    monkeypatch.setattr(session_module, 'MATCH_TIMEOUT_S', 0.1)
    result = _result()
    result.final_state.header.stamp = Time(sec=2)
    result.final_state.objects = [msg.ObjectPose(name=name) for name in ('a', 'b')]
    if heard is not None:
        angles = [float(number) for number in range(6)]
        joints = JointState(name=list(reversed(JOINT_NAMES)), position=list(reversed(angles)))
        joints.header.stamp = Time(sec=heard)
        session._heard_joints(joints)
    session.finish(result)
    assert session.joints == ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0) if arrived else ())
    check = check_goal(TASK.problem, result.final_state, session.joints, load_scene())
    session.measured(check)
    assert ('joints' in check.problem) is not arrived
    assert not session.record.ok


@pytest.mark.parametrize(
    ('result', 'words'),
    [
        (_result(ErrorCode.PLANNING_CANCELED, 'x', done=0), 'while planning: nothing moved'),
        (_result(ErrorCode.EXECUTION_CANCELED, 'x', done=1), 'has stopped, with 1 of 2 steps done'),
        (_result(ErrorCode.ROBOT_FAULT, 'the arm fell', done=1), 'by the user: the arm fell'),
    ],
)
def test_an_interruption_says_what_is_true_of_its_stage(
    session: RunRecorder, result: RunTask.Result, words: str
) -> None:
    session.finish(result, interrupted=True)
    assert session.record.message.startswith('interrupted by the user: ')
    assert words in session.record.message
    assert session.record.plan == PLAN


def _kept(work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options):
    """The exit status (None for an exception), the screen and the record of a run."""
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    screen = io.StringIO()
    asked = GoalRequest(Path('two.pddl'), TASK, '', Options(), options.get('cell'))
    code = None
    try:
        console = Console(file=screen, width=200)
        code = kept_run(asked, work, options.get('video', False), console)
    except ZeroDivisionError:
        assert 'error' in options
    (folder,) = tmp_path.iterdir()
    text = (folder / 'report.json').read_text(encoding='utf-8')
    return code, screen.getvalue(), RunRecord.from_json(text)


@pytest.mark.parametrize('stage', RunStage)
def test_ctrl_c_without_a_result_leaves_a_report_of_its_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: RunStage
) -> None:
    def work(session: RunRecorder) -> int:
        if stage is RunStage.ENDED:
            session.finish(_result())
        session.stage = stage
        raise KeyboardInterrupt

    code, screen, record = _kept(work, tmp_path, monkeypatch)
    assert code == 130
    assert stage.value in screen
    assert stage.value in record.message
    assert not record.ok
    assert record.versions['python']
    assert [a.name for a in record.artefacts] == ['journal']


def test_an_error_is_in_the_report_and_one_of_our_own_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(session: RunRecorder) -> int:
        return 1 // 0

    def refuse(session: RunRecorder) -> int:
        raise SafegenError('no [good]')

    code, _, record = _kept(fail, tmp_path / 'fails', monkeypatch, error=True)
    assert code is None
    assert 'ZeroDivisionError: integer division' in record.message
    code, screen, record = _kept(refuse, tmp_path / 'refuses', monkeypatch)
    assert code == 1
    assert '\nno [good]\n' in screen
    assert record.message == 'no [good]'


def _reach(session: RunRecorder) -> int:
    _sent(session)
    _hear(session, GOAL, events.GoalEvent('execute_plan', EXECUTION))
    _hear(session, EXECUTION, events.StepEvent(0, PLAN[0], 0.5))
    _hear(session, GOAL, events.EndEvent(ErrorCode.NONE, ''))
    _hear(session, EXECUTION, events.EndEvent(ErrorCode.NONE, ''))
    session.finish(_result())
    session.measured(GoalCheck({}, (('(on a b)', True),)))
    return 0


def test_ctrl_c_while_the_video_is_made_keeps_the_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []

    def interrupted(*arguments: object) -> None:
        reports.extend(tmp_path.glob('*/report.md'))
        raise KeyboardInterrupt

    monkeypatch.setattr(video, 'try_video', interrupted)
    code, screen, record = _kept(_reach, tmp_path, monkeypatch, video=True)
    assert len(reports) == 1, 'the report was not written before the video'
    assert code == 0
    assert record.ok
    assert 'no video: interrupted' in screen
    assert ('video', '', 'interrupted') in [(a.name, a.file, a.note) for a in record.artefacts]


def test_a_symbolic_run_says_so_everywhere_and_makes_no_video(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(session: RunRecorder) -> int:
        session._note(events.StackEvent(events.NO_MODEL, 'symbolic'))
        return _reach(session)

    def never(*arguments: object) -> None:
        raise AssertionError('a video was made')

    monkeypatch.setattr(video, 'try_video', never)
    cell = CellChoice('symbolic', 'as you asked')
    code, screen, record = _kept(work, tmp_path, monkeypatch, video=True, cell=cell)
    assert code == 0
    assert record.ok
    assert 'symbolic, so nothing moves and nothing is measured: as you asked' in screen
    assert 'no video: a symbolic cell has no motion to show' in screen
    (missing,) = [a for a in record.artefacts if a.name == 'video']
    assert (missing.file, missing.note) == ('', 'a symbolic cell has no motion to show')


def test_the_record_has_the_text_as_sent_and_its_pddl(tmp_path: Path) -> None:
    sent = TASK.written_as('english')
    record = RunRecorder(tmp_path, sent, 'two.pddl', '').record.task
    assert (record.format, record.problem) == ('english', sent.problem_text)
    assert load_task(record.pddl).problem == TASK.problem
    (entry,) = load_journal(tmp_path / JOURNAL)
    assert entry.data['task']['format'] == 'english'


class _Interrupted:
    """A goal whose wait is interrupted, as by Ctrl-C, and what cancelling it gives."""

    def __init__(self, answer: object, self_cancelling: bool) -> None:
        self.answer = answer
        self.self_cancelling = self_cancelling

    def result(self) -> object:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            if self.self_cancelling:
                self.cancel()
            raise

    def cancel(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize('self_cancelling', [True, False])
def test_a_goal_that_cannot_be_cancelled_is_said_to_be_so(self_cancelling: bool) -> None:
    lost = SafegenError('no answer', ErrorCode.SERVER_LOST)
    with pytest.raises(SafegenError, match='could not be cancelled: no answer') as caught:
        result_of(_Interrupted(lost, self_cancelling))
    assert caught.value.code is ErrorCode.SERVER_LOST
    assert result_of(_Interrupted(5, self_cancelling)) == (5, True)


def test_the_live_line_is_of_what_goes_on_and_leaves_nothing_on_the_screen() -> None:
    screen = io.StringIO()
    with RunDisplay(Console(file=screen, width=200)) as shown:
        shown.planning(msg.PlanningProgress(phase='generating', attempt_number=3))
        shown.planning(msg.PlanningProgress(phase='judged'))
    assert screen.getvalue().strip() == ''


def test_a_log_says_what_is_awaited_where_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, 'QUIET_S', 0.01)
    screen = io.StringIO()
    with RunDisplay(Console(file=screen, width=200)) as shown:
        shown.planning(msg.PlanningProgress(phase='generating', attempt_number=3, source='model'))
        shown._waits.join()
    assert screen.getvalue() == '  … attempt 3: the model is writing (model)\n'


def test_the_screen_tells_a_run_by_its_events_once_they_are_on_the_disk(
    session: RunRecorder,
) -> None:
    screen = io.StringIO()
    session.noted = RunDisplay(Console(file=screen, width=200)).show
    _hear(session, GOAL, _attempted(WRONG), _attempted(RIGHT))
    assert screen.getvalue() == ''  # of a goal that is not known to be ours
    _sent(session)
    _hear(session, GOAL, events.GoalEvent('execute_plan', EXECUTION))
    _hear(session, EXECUTION, events.PhaseEvent('preparing', 0.1, 'blocks seen by a camera'))
    for goal, event in _execution(EXECUTION, 0, 1):
        _hear(session, goal, event)
    assert screen.getvalue().splitlines() == [
        '  Attempt 1 by model: not a plan (FORMAT_ERROR), 0 steps, 0.00 s.',
        '    hm  (as the model wrote it)',
        '    because',
        '  Attempt 2 by search: proved safe (SUCCESS), 2 steps, 0.00 s.',
        '    (pickup a) (stack a b)',
        '  The executor has proved the plan again, and prepares.',
        '    initial state: blocks seen by a camera',
        '  ✓   1/2 █░  (pickup a)',
        '  ✓   2/2 ██  (stack a b)',
    ]


def test_the_screen_tells_an_empty_plan_from_nothing(session: RunRecorder) -> None:
    screen = io.StringIO()
    session.noted = RunDisplay(Console(file=screen, width=200)).show
    empty = _attempt(2, Category.SUCCESS)
    empty.text, empty.plan = '', msg.Plan(source='model')
    _sent(session)
    _hear(session, GOAL, _attempted(empty))
    assert 'the empty plan is proved: the goal holds already' in screen.getvalue()

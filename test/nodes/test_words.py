# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks in words through the nodes: what was understood is told, planned for, proved and executed.

The model is at a server whose answers are scripted; the plans come from the search planner.
"""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from support.blocks_small import THREE_TEXT
from support.goals import WAIT_S, Feedback
from support.kept_runs import assert_same_again
from support.one_process import Stack
from support.waiting import wait_until

from safegen_msgs.action import PlanTask
from safegen_msgs.msg import Task
from safegen_ros.cli.approval import lines
from safegen_ros.cli.plan_goal import run_request
from safegen_ros.cli.text_request import TextRequest
from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.llm.openai_backend import PROBE
from safegen_ros.node_parameters import PLANNER
from safegen_ros.nodes.approval import Approver
from safegen_ros.nodes.translation import Translator
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.record.history import UNDERSTOOD, list_runs, outcome_of, recorded_task
from safegen_ros.record.present.report import render_report
from safegen_ros.record.run_log import KeptRun, load_run
from safegen_ros.ros.diagnostics import ERROR, OK
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import WordStyle
from safegen_ros.tasks.pddl3.task import load_task

REQUEST = 'Build a tower with c on top of a and a on top of b.'
GIVEN = '(always (not (on c b)))'
PLAIN = THREE_TEXT.replace(f'(:constraints {GIVEN})', '')
START = PLAIN.replace('(and (on a b) (on c a))', '(and)')
OTHER = PLAIN.replace('(on c a)', '(clear c)')
RULED = f'{PLAIN.rstrip()[:-1]}(:constraints (sometime (on b c))))'
BY_SEARCH = Options(strategy='search', constraints=GIVEN, start=START)


@pytest.fixture
def stack(in_process: Stack) -> Iterator[Stack]:
    in_process.server.requests.clear()
    yield in_process
    in_process.server.fault = ''


def run(
    stack: Stack, options: Options = BY_SEARCH, approves: bool = True
) -> tuple[Any, Feedback, KeptRun]:
    """The result of the request, its feedback, and what the planner has written down.

    An operator answers as soon as a plan waits; that no plan waits is not a fault here.
    """
    answered = threading.Event()
    feedback = Feedback()

    def answer(message: Any) -> None:
        feedback(message)
        if message.stage == 'approval' and not answered.is_set():
            answered.set()
            threading.Thread(target=say, args=(message.pending.digest,)).start()

    def say(digest: str) -> None:
        assert Approver(stack.client.node).say(digest, approves, 'ann', '', WAIT_S).success

    goal = stack.client.start_run(REQUEST, '', options, answer, 'words')
    return goal.result(), feedback, stack.kept(goal)


def reading_of(stack: Stack, request: str = REQUEST, options: Options = BY_SEARCH) -> Any:
    """The result of the first of two calls, which only reads the request."""
    asked = replace(options, translate_only=True)
    result = stack.client.plan(request, '', asked, format='words')
    assert (result.error_msg, result.error_code) == ('', ErrorCode.NONE)
    return result


def test_a_model_that_does_not_answer_is_known_before_a_goal(stack: Stack) -> None:
    planner, faults = stack.planner, stack.server.fault_of
    faults[PROBE] = 'status-401'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('safegen_ros.nodes.translation.CHECK_S', 0.5)
        for lead in ('deactivate', 'cleanup', 'configure', 'activate'):
            getattr(planner, f'trigger_{lead}')()
        assert planner.state == 'active'
        wait_until(lambda: planner._model_health().level == ERROR, 'a refusal')
        assert 'answered 401' in planner._model_health().message
        del faults[PROBE]
        wait_until(lambda: planner._model_health().level == OK, 'a first answer')
    assert set(planner._model_health().values) > {'first token [s]', 'tokens of the last answer'}


def test_words_become_a_problem_that_is_told_before_it_is_planned_for(stack: Stack) -> None:
    stack.answer(f'Here it is:\n```pddl\n{PLAIN}```\nAnything else?')
    result, feedback, kept = run(stack)
    assert (result.error_msg, result.error_code) == ('', ErrorCode.NONE)
    phases = [each.planning.phase for each in feedback.seen if each.stage == 'planning']
    assert phases[:5] == ['translating', 'translated'] * 2 + ['understood']
    (understood,) = (f.planning for f in feedback.seen if f.planning.phase == 'understood')
    assert (understood.problem, understood.reading) == (result.problem, result.reading)
    problem = load_task(result.problem).problem
    assert [constraint_text(each) for each in problem.constraints] == [GIVEN]
    back = FORMATS['english'].read(result.reading, problem.domain, 'reading')
    assert set(back.goal_conjuncts()) == set(problem.goal_conjuncts())
    assert '(on c a)' in result.final_state.facts
    assert load_task(result.problem).verify('\n'.join(map(_step, result.plan.steps))).ok
    asked = stack.server.requests[0]['messages'][0]['content']
    assert REQUEST in asked
    assert GIVEN in asked
    assert '(clear b)' in asked

    assert outcome_of(kept) == 'SUCCESS'
    assert kept.record.task.problem == REQUEST
    assert (kept.record.task.constraints, kept.record.task.start) == (GIVEN, START)
    assert recorded_task(kept.record).problem == problem
    assert kept.record.understood is not None
    assert kept.record.understood.reading == result.reading
    assert [(a.reading, a.attempt, a.refused) for a in kept.record.answers] == [
        (1, 1, ''), (2, 1, ''),
    ]  # fmt: skip
    assert result.reading.splitlines()[0] in render_report(kept.record)


def _step(step: Any) -> str:
    return f'({" ".join((step.action, *step.arguments))})'


def test_an_accepted_reading_is_carried_out_in_two_calls(stack: Stack) -> None:
    stack.answer(PLAIN)
    read = reading_of(stack)
    stack.answer(PLAIN.replace('(problem three)', '(problem another_name)'))
    accepted = replace(BY_SEARCH, accept_reading=read.reading_digest, approval=True)
    result, feedback, kept = run(stack, accepted)
    assert (result.error_msg, result.error_code) == ('', ErrorCode.NONE)
    assert 'approval' in {each.stage for each in feedback.seen}
    assert result.approved_by == 'ann'
    assert result.reading_digest == read.reading_digest
    assert kept.record.understood is not None
    assert kept.record.understood.digest == read.reading_digest


@pytest.mark.parametrize(
    ('answers', 'code'),
    [
        ([OTHER], ErrorCode.READING_NOT_ACCEPTED),
        ([RULED], ErrorCode.READING_NOT_ACCEPTED),
        ([PLAIN, OTHER], ErrorCode.AMBIGUOUS_REQUEST),
        (['QUESTION: Which tower?'], ErrorCode.AMBIGUOUS_REQUEST),
        (['I cannot do that.'], ErrorCode.TRANSLATION_FAILED),
    ],
)  # fmt: skip
def test_what_was_accepted_moves_nothing_else(
    stack: Stack, answers: list[str], code: ErrorCode
) -> None:
    stack.answer(PLAIN)
    digest = reading_of(stack).reading_digest
    stack.answer(*answers)
    result, feedback, _ = run(stack, replace(BY_SEARCH, accept_reading=digest))
    assert ErrorCode(result.error_code) is code
    assert not result.attempts
    assert not result.steps_done
    assert {each.stage for each in feedback.seen} == {'planning'}
    assert bool(result.reading_digest) == (code is ErrorCode.READING_NOT_ACCEPTED)
    assert result.reading_digest != digest


@pytest.mark.nightly
def test_a_digest_is_that_of_request_and_reading(stack: Stack) -> None:
    stack.answer(PLAIN)
    found = {reading_of(stack).reading_digest}
    found.add(reading_of(stack, 'Put a on b and c on a.').reading_digest)
    found.add(reading_of(stack, options=replace(BY_SEARCH, constraints='')).reading_digest)
    stack.answer(OTHER)
    found.add(reading_of(stack).reading_digest)
    assert len(found) == 4
    assert all(len(each) == 64 for each in found)


@pytest.mark.parametrize(
    ('answer', 'said'),
    [('I cannot do that.', 'no (define (problem'), ('x' * 1_200_000, 'characters')],
)
def test_nothing_is_planned_for_what_the_model_never_gets_right(
    stack: Stack, answer: str, said: str
) -> None:
    stack.answer(answer)
    result, feedback, kept = run(stack)
    assert result.error_code in (ErrorCode.TRANSLATION_FAILED, ErrorCode.BACKEND_FAILED)
    assert said in result.error_msg
    assert not result.attempts
    assert not result.plan.steps
    assert not result.problem
    assert 'execution' not in {each.stage for each in feedback.seen}
    assert kept.record.understood is None


def test_rules_in_our_own_words_hold_whatever_the_model_writes(stack: Stack) -> None:
    stack.answer(PLAIN)
    request = 'Put a on b and c on a, and never put anything on c.'
    result = stack.client.plan(request, '', Options(strategy='search', start=START), format='words')
    assert result.error_code == ErrorCode.NONE
    found = {constraint_text(each) for each in load_task(result.problem).problem.constraints}
    assert found == {'(always (not (exists (?x) (on ?x c))))'}
    request = 'Put a on b. Do not put a and c on b.'
    result = stack.client.plan(request, '', Options(strategy='search', start=START), format='words')
    assert result.error_code == ErrorCode.AMBIGUOUS_REQUEST
    assert '2. ' in result.question


@pytest.mark.parametrize('answers', [('QUESTION: Which tower?',), (PLAIN, OTHER)])
def test_a_request_that_is_not_clear_is_asked_back(stack: Stack, answers: tuple[str, ...]) -> None:
    stack.answer(*answers)
    result, feedback, kept = run(stack)
    assert result.error_code == ErrorCode.AMBIGUOUS_REQUEST
    assert result.question
    assert result.question in result.error_msg
    assert not result.attempts
    assert not result.problem
    assert kept.record.understood is not None
    assert kept.record.understood.question == result.question
    assert 'understood' not in {each.planning.phase for each in feedback.seen}


def test_a_task_can_be_understood_without_a_plan(stack: Stack) -> None:
    stack.answer(PLAIN)
    options = Options(start=START, translate_only=True)
    goal = stack.client.start_plan(REQUEST, 'blocksworld', options, format='words')
    result = goal.result()
    assert result.error_code == ErrorCode.NONE
    assert load_task(result.problem).problem.goal == load_task(PLAIN).problem.goal
    assert not result.attempts
    assert not result.plan.steps
    assert outcome_of(stack.kept(goal)) == UNDERSTOOD
    result = stack.client.plan(PLAIN, options=Options(translate_only=True))
    assert result.error_code == ErrorCode.UNKNOWN_FORMAT


@pytest.mark.nightly
def test_a_domain_that_is_not_built_in_goes_with_its_text(stack: Stack) -> None:
    stack.answer(
        """(define (problem g) (:domain gripper) (:objects r s x g)
        (:init (room r) (room s) (ball x) (gripper g) (at-robby r) (at x r) (free g))
        (:goal (at x s)))""",
    )
    request, options = 'Bring x to s.', Options(strategy='search', translate_only=True)
    read = stack.client.plan(request, 'gripper', options, format='words')
    options = Options(strategy='search', accept_reading=read.reading_digest)
    result = stack.client.run(request, 'gripper', options, format='words')
    assert (result.error_msg, result.error_code) == ('', ErrorCode.NONE)
    assert '(at x s)' in result.final_state.facts


@pytest.mark.parametrize(
    ('request_', 'domain', 'options', 'code'),
    [
        ('', 'blocksworld', Options(), ErrorCode.EMPTY_TASK),
        ('x' * 60_000, 'blocksworld', Options(), ErrorCode.TASK_TOO_LARGE),
        (REQUEST, '', Options(), ErrorCode.UNKNOWN_DOMAIN),
        (REQUEST, 'chess', Options(), ErrorCode.UNKNOWN_DOMAIN),
        (REQUEST, '', Options(start='(define'), ErrorCode.BAD_PDDL),
        (REQUEST, '', Options(start=START, constraints='(always (on q a))'), ErrorCode.BAD_PDDL),
        (REQUEST, '', Options(start='x' * 10_000_000), ErrorCode.TASK_TOO_LARGE),
    ],
)
def test_a_request_that_cannot_be_read_asks_no_model(
    stack: Stack, request_: str, domain: str, options: Options, code: ErrorCode
) -> None:
    result = stack.client.plan(request_, domain, options, format='words')
    assert (result.error_code, bool(result.error_msg)) == (code, True)
    assert not stack.server.requests


def test_only_the_planner_takes_words_and_what_belongs_to_them(stack: Stack) -> None:
    response = stack.client.validate(REQUEST, '', 'blocksworld', 'words')
    assert response.error_code == ErrorCode.UNKNOWN_FORMAT
    result = stack.client.execute(REQUEST, Plan(), 'blocksworld', format='words')
    assert result.error_code == ErrorCode.UNKNOWN_FORMAT
    result = stack.client.plan(PLAIN, options=Options(constraints=GIVEN))
    assert result.error_code == ErrorCode.BAD_PDDL  # not dropped
    result = stack.client.run(PLAIN, options=Options(accept_reading='f' * 64))
    assert result.error_code == ErrorCode.UNKNOWN_FORMAT


def test_a_translation_ends_with_its_goal(stack: Stack) -> None:
    stack.server.fault = 'silent'
    waiting = stack.server.waiting
    goal = stack.client.start_run(REQUEST, '', BY_SEARCH, format='words')
    stack.server.wait('waiting', waiting + 1)
    assert goal.cancel().error_code == ErrorCode.PLANNING_CANCELED
    short = Options(0.5, strategy='search', start=START)
    result = stack.client.plan(REQUEST, '', short, format='words')
    assert result.error_code == ErrorCode.PLANNING_TIMEOUT


@pytest.mark.nightly  # it loads the model that ships
def test_a_model_that_answers_no_chat_translates_nothing(tmp_path: Path) -> None:
    class Silent:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f'{name}: the model was asked')

    values = {each.name: each.default for each in PLANNER}
    backend: Backend = Silent()  # type: ignore[assignment]
    task = Task(problem=REQUEST, domain='blocksworld', format='words')
    goal: Any = SimpleNamespace(
        request=PlanTask.Goal(),
        watched=PlanningDeadline(WAIT_S, lambda: False),
        note=lambda *events: None,
        planning=lambda progress: None,
        planned_for=lambda seconds: None,
    )
    named = {**values, 'translator': 'models/safegen-mini'}
    with pytest.raises(SafegenError, match='parameter translator'):
        Translator(named, WordStyle(), backend)
    # The one that ships is asked instead of the planner's own, and says what it has to be told.
    translator = Translator(values, WordStyle(), backend)
    with pytest.raises(SafegenError, match='--start') as caught:
        translator.translate(goal, task)
    assert caught.value.code is ErrorCode.TRANSLATION_FAILED
    translator.close()


@dataclass
class Terminal:
    """What the verb `safegen run` does with a request: its exit status, its screen, its records."""

    runs: Path
    done: list[Path] = field(default_factory=list)
    screen: io.StringIO = field(default_factory=io.StringIO)

    def run(self, text: str, yes: bool = False, accept: str = '') -> int:
        console = Console(file=self.screen, width=200)
        spoken = TextRequest(text, 'blocksworld', GIVEN, START)
        options = Options(strategy='search', accept_reading=accept)
        return run_request(spoken, options, '', console, yes, True, self.done.append)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    return Terminal(tmp_path)


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    stdin = io.StringIO(text)
    stdin.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, 'stdin', stdin)


def test_the_verb_shows_what_was_understood_and_runs_just_that(
    stack: Stack, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.answer('Well.', PLAIN)
    type_in(monkeypatch, 'y\n')
    assert terminal.run(REQUEST) == 0
    screen = terminal.screen.getvalue()
    assert screen.index('The goal:') < screen.index(f'{GIVEN}\n') < screen.index('by search')
    (folder,) = terminal.done
    kept = load_run(folder)
    assert kept.record.task.problem == REQUEST
    assert [bool(each.refused) for each in kept.record.answers] == [True, False, False]
    assert kept.record.understood is not None
    problem = recorded_task(kept.record).problem
    assert [constraint_text(each) for each in problem.constraints] == [GIVEN]
    assert kept.record.reached
    assert stack.server.requests[-1]['messages'][0]['content'].count(REQUEST) == 1
    assert kept.record.understood.reading in (folder / 'report.md').read_text()
    assert_same_again(kept.record)


@pytest.mark.nightly
def test_the_verb_runs_nothing_that_the_user_does_not_agree_to(
    stack: Stack,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stack.answer(PLAIN)
    type_in(monkeypatch, 'n\n')
    assert terminal.run(REQUEST) == 1
    assert json.loads(capsys.readouterr().out)['problem']
    stack.answer('QUESTION: On which block?')
    assert terminal.run(REQUEST, yes=True) == 1
    assert json.loads(capsys.readouterr().out)['question'] == 'On which block?'
    monkeypatch.setattr(sys, 'stdin', io.StringIO('y\n'))
    stack.answer(PLAIN)
    assert terminal.run(REQUEST, accept='f' * 64) == 1
    assert json.loads(capsys.readouterr().out)['reading_digest']
    assert 'READING_NOT_ACCEPTED' in terminal.screen.getvalue()
    assert not list(list_runs(terminal.runs))


@pytest.mark.parametrize('yes', [pytest.param(False, marks=pytest.mark.nightly), True])
def test_a_reading_that_nobody_accepted_waits_for_an_operator(
    stack: Stack, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, yes: bool
) -> None:
    """Where the verb has no terminal to ask."""
    stack.answer(PLAIN)
    monkeypatch.setattr(sys, 'stdin', io.StringIO('y\n'))
    codes: list[int] = []
    verb = threading.Thread(target=lambda: codes.append(terminal.run(REQUEST, yes)))
    verb.start()
    approver = Approver(stack.client.node)
    pending = approver.wait(WAIT_S)
    assert pending is not None
    assert pending.request == REQUEST
    told = '\n'.join(lines(pending))
    assert told.index(REQUEST) < told.index('stack')
    assert not codes
    assert 'waits for an operator' in terminal.screen.getvalue()
    assert approver.say(pending.digest, False, 'ann', 'not that', WAIT_S).success
    verb.join(WAIT_S)
    assert codes == [1]
    (kept,) = [load_run(folder) for folder in terminal.done]
    assert kept.record.error_code is ErrorCode.APPROVAL_REFUSED
    assert not kept.record.steps_done


@pytest.mark.nightly
def test_without_a_terminal_the_verb_runs_the_reading_of_a_digest(
    stack: Stack, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.answer(PLAIN)
    monkeypatch.setattr(sys, 'stdin', io.StringIO(''))
    spoken = TextRequest(REQUEST, 'blocksworld', GIVEN, START)
    options = spoken.options(Options(translate_only=True))
    read = stack.client.plan(REQUEST, 'blocksworld', options, format='words')
    assert terminal.run(REQUEST, accept=read.reading_digest) == 0
    assert read.reading_digest in terminal.screen.getvalue()
    (folder,) = terminal.done
    assert load_run(folder).record.reached


def test_a_reading_in_doubt_needs_the_yes_of_a_person(
    stack: Stack,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """RULED has a rule for which the request has no word."""
    stack.answer(RULED)
    result, feedback, kept = run(stack)  # an operator would approve of it
    assert result.error_code == ErrorCode.READING_NOT_ACCEPTED
    assert 'no word' in result.error_msg
    assert 'no word' in result.question
    assert {each.stage for each in feedback.seen} == {'planning'}
    assert kept.record.understood is not None
    assert kept.record.understood.question == result.question
    assert result.question in render_report(kept.record)
    planned = stack.client.plan(REQUEST, '', BY_SEARCH, format='words')
    assert planned.error_code == ErrorCode.READING_NOT_ACCEPTED
    assert not planned.plan.steps

    type_in(monkeypatch, 'n\n')
    assert terminal.run(REQUEST) == 1
    monkeypatch.setattr(sys, 'stdin', io.StringIO('y\n'))  # a pipe, no person
    assert terminal.run(REQUEST, yes=True) == 1
    assert terminal.screen.getvalue().count('READING_NOT_ACCEPTED') == 1
    assert not terminal.done
    capsys.readouterr()
    type_in(monkeypatch, 'y\n')
    assert terminal.run(REQUEST) == 0
    assert 'despite the doubts?' in capsys.readouterr().err
    screen = terminal.screen.getvalue()
    assert screen.index('The reading is in doubt') < screen.index('The goal:')
    assert 'in doubt the reading has a rule' in screen

    accepted = replace(BY_SEARCH, accept_reading=result.reading_digest, approval=True)
    done, feedback, _ = run(stack, accepted)
    assert done.error_code == ErrorCode.NONE
    assert any('no word' in each.pending.request for each in feedback.seen)

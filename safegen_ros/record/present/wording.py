# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The task, why an attempt was refused and what the arm will do next, in plain words.

All of it is text without markup: each page escapes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, PddlError, PlanFormatError
from safegen_ros.language.english import Phrases, constraint_sentence, formula_words
from safegen_ros.language.reading import read_formal
from safegen_ros.pddl.model import Constraint, Problem
from safegen_ros.pddl.plan import Step, parse_plan
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.record.run import AttemptRecord
from safegen_ros.verdict import BrokenConstraint, Category, Verdict

_MOST = 5  # things that are listed one by one

CATEGORY_WORDS = {
    Category.UNKNOWN: 'no verdict',
    Category.FORMAT_ERROR: 'not a plan',
    Category.SAFETY_VIOLATION: 'breaks a rule',
    Category.PRECONDITION_VIOLATION: 'not possible',
    Category.GOAL_NOT_SATISFIED: 'does not reach the goal',
    Category.SUCCESS: 'proved safe',
}
"""A verdict in a word or two."""

_WHAT_HAPPENED = {
    'always': 'After that it is no longer kept.',
    'sometime': 'In the whole plan this never happens.',
    'at-most-once': 'Then this happens a second time: {0}.',
    'sometime-before': 'Then {0}, but there was no earlier time when {1}.',
    'sometime-after': 'It happens that {0}, but neither then nor later that {1}.',
    'at end': 'When the plan ends, this is not so.',
    'within': 'It has not happened within {1} that {0}.',
    'always-within': 'It happens that {0}, but neither then nor within {2} that {1}.',
    'hold-during': 'In that time it is not so that {0}.',
    'hold-after': 'Then it is not so that {0}.',
}


def steps_of(texts: Sequence[str]) -> tuple[Step, ...]:
    """The steps that a record has as texts; none where they cannot be read."""
    try:
        return parse_plan('\n'.join(texts)).steps
    except PlanFormatError:
        return ()


def step_words(step: Step, problem: Problem | None) -> str:
    """The words for a step, such as 'put b1 on b2'."""
    if problem is not None and step.action in problem.domain.actions:
        template = Phrases.of(problem.domain).wording.steps.get(step.action, '')
        arity = len(problem.domain.actions[step.action].parameters)
        if template and len(step.arguments) == arity:
            return template.format(*step.arguments)
    return ' '.join((step.action.replace('-', ' ').replace('_', ' '), *step.arguments))


def step_text_words(text: str, problem: Problem | None) -> str:
    """The same for a step as a record has it; one of several actions at once stays as it is."""
    steps = steps_of([text])
    return step_words(steps[0], problem) if len(steps) == 1 else text


def condition_words(text: str, problem: Problem) -> str:
    """A condition that a verdict has as PDDL, in words; as it is where it cannot be read."""
    try:
        tree = read_formal(f'(always {text})', problem, '<verdict>')
    except PddlError:
        return text
    # An `and` around them is how several constraints are read.
    part = tree if isinstance(tree, Constraint) else getattr(tree, 'parts', (None,))[0]
    return formula_words(part.arguments[0], problem) if isinstance(part, Constraint) else text


def difference_words(reason: str, problem: Problem | None) -> str:
    """How the world differs from the proved one, in words; any other reason stays as it is.

    Args:
        reason: as the executor's monitor gives it.
        problem: of the plan; None where it is not known.
    """
    found = _DIFFERENCE.match(reason)
    if found is None or problem is None:
        return reason

    def told(text: str) -> str:
        return _conditions(problem, _IN_BRACKETS.findall(text))

    step = _IN_BRACKETS.sub(lambda each: f'(“{step_text_words(each[0], problem)}”)', found[1])
    missing = f' It should be so that {told(found[2])}.' if found[2] != 'nothing' else ''
    extra = f' It should not be so that {told(found[3])}.' if found[3] != 'nothing' else ''
    return f'{step} the world was not as foreseen.{missing}{extra}'


_DIFFERENCE = re.compile(r'(.+) the world is not as proved: missing (.+), unexpected (.+?): look')
_IN_BRACKETS = re.compile(r'\([^()]+\)')


def verdict_words(problem: Problem | None, attempt: AttemptRecord) -> str:
    """Why an attempt was refused, or that it was proved.

    Args:
        problem: its problem; None where it is not known, or is not PDDL.
    """
    verdict = attempt.verdict
    if verdict.ok:
        return (
            f'Proved safe: each of its {verdict.plan_length} steps is possible, every rule is kept '
            'from the first state to the last one, and the goal is reached.'
        )
    return f'Refused, nothing moves: {refusal_words(problem, attempt)}'


def refusal_words(problem: Problem | None, attempt: AttemptRecord) -> str:
    """Why an attempt was refused, to be put behind a colon; the arguments are those above."""
    verdict = attempt.verdict
    if verdict.category is Category.UNKNOWN:
        return 'there is no verdict.'
    if problem is None:
        return f'{CATEGORY_WORDS[verdict.category]}: {verdict.reason}'
    return ' '.join(_REFUSALS[verdict.category](problem, verdict, steps_of(attempt.steps))).strip()


def _unreadable(problem: Problem, verdict: Verdict, steps: Sequence[Step]) -> Iterator[str]:
    yield 'this is not a plan that can be read. What was written has to be a list of steps that'
    yield f'this task knows, and nothing else. In the words of the reader: {verdict.reason}'


def _unsafe(problem: Problem, verdict: Verdict, steps: Sequence[Step]) -> Iterator[str]:
    if not verdict.broken:
        yield _sentence(verdict.reason)
        return
    first, *others = verdict.broken
    constraint = _constraint(problem, first)
    rule = constraint_sentence(constraint, problem) if constraint else first.text
    if verdict.failing_step < 0:
        yield f'the goal is reached, but when the plan ends this rule is not kept: “{rule}”'
    elif verdict.failing_state == 0:
        yield f'this rule is broken before the first step, so that no plan keeps it: “{rule}”'
    else:
        yield f'{_step(problem, verdict, steps)} breaks the rule “{rule}”'
    if constraint is None:
        yield _sentence(first.reason)
    else:
        told = [formula_words(argument, problem) for argument in constraint.arguments]
        times = [f'{time} step{"" if time == 1 else "s"}' for time in constraint.times]
        times = times or [f'{time:f} seconds' for time in constraint.exact]
        happened = _WHAT_HAPPENED[constraint.operator].format(*told, *times)
        yield happened if verdict.failing_state else ''
    if others:
        more = 'rule is' if len(others) == 1 else 'rules are'
        yield f'{len(others)} more {more} broken by this plan.'


def _impossible(problem: Problem, verdict: Verdict, steps: Sequence[Step]) -> Iterator[str]:
    yield f'{_step(problem, verdict, steps)} is not possible at that point.'
    if verdict.unsatisfied:
        yield f'It needs that {_conditions(problem, verdict.unsatisfied)}, which is not so then.'


def _short(problem: Problem, verdict: Verdict, steps: Sequence[Step]) -> Iterator[str]:
    yield 'every step is possible, but when the plan ends the goal is not reached.'
    if verdict.unsatisfied:
        yield f'What is missing: {_conditions(problem, verdict.unsatisfied)}.'


_REFUSALS = {
    Category.FORMAT_ERROR: _unreadable,
    Category.SAFETY_VIOLATION: _unsafe,
    Category.PRECONDITION_VIOLATION: _impossible,
    Category.GOAL_NOT_SATISFIED: _short,
}


def _step(problem: Problem, verdict: Verdict, steps: Sequence[Step]) -> str:
    index = verdict.failing_step
    if not 0 <= index < len(steps):
        return f'step {index + 1}'
    return f'step {index + 1} of {len(steps)}, “{step_words(steps[index], problem)}”,'


def _conditions(problem: Problem, texts: Sequence[str]) -> str:
    told = [condition_words(text, problem) for text in texts[:_MOST]]
    more = [f'{len(texts) - _MOST} more conditions'] if len(texts) > _MOST else []
    return ' and '.join(told + more)


def _constraint(problem: Problem, broken: BrokenConstraint) -> Constraint | None:
    fitting = [c for c in problem.constraints if constraint_text(c) == broken.text]
    return fitting[0] if fitting else None


def _sentence(text: str) -> str:
    """A text that begins with a capital and ends as a sentence does."""
    short = ' '.join(text.split())
    if not short:
        return ''
    return f'{short[0].upper()}{short[1:]}{"" if short[-1] in ".!?" else "."}'


_ENDED = {
    ErrorCode.NONE: 'Done: the plan was executed, and the world was as proved.',
    ErrorCode.ATTEMPTS_EXHAUSTED: 'No plan could be proved safe, so nothing moved',
    ErrorCode.UNSOLVABLE: 'There is no plan that keeps every rule, so nothing moved',
    ErrorCode.AMBIGUOUS_REQUEST: 'The request can mean several things, so nothing was planned',
    ErrorCode.READING_NOT_ACCEPTED: 'The reading was not accepted, so nothing was planned',
    ErrorCode.PLANNING_CANCELED: 'It was cancelled before anything moved',
    ErrorCode.PLANNING_STOPPED: 'It was stopped before anything moved',
    ErrorCode.PLAN_REFUSED: 'The plan is not proved safe, so it was not executed',
    ErrorCode.APPROVAL_REFUSED: 'Nothing was executed',
    ErrorCode.APPROVAL_TIMEOUT: 'The plan was not approved in time, so it was not executed',
    ErrorCode.SITE_REFUSED: 'The rules of this site do not allow it',
    ErrorCode.NOT_AUTHORIZED: 'It has no signature of a person who may do this',
    ErrorCode.ROBOT_FAULT: 'The arm had a fault and was stopped',
    ErrorCode.STATE_MISMATCH: 'The world was not as proved, so the arm was stopped',
    ErrorCode.MONITOR_VIOLATION: 'The world broke a rule, so the arm was stopped',
    ErrorCode.GOAL_MISMATCH: 'Every step was done, but the world is not the goal',
    ErrorCode.EXECUTION_CANCELED: 'It was cancelled, and the arm was stopped where it was',
    ErrorCode.EXECUTION_STOPPED: 'The stop was pressed, or a watchdog stopped the arm',
    ErrorCode.REHEARSAL_FAILED: 'The rehearsal on the twin failed, so the arm did not move',
}


def ended_words(code: ErrorCode, message: str = '') -> str:
    """How a goal ended, as a sentence."""
    told = _ENDED.get(code, f'It ended with {code.name}')
    return _sentence(f'{told}: {message}' if message else told)


@dataclass(frozen=True, slots=True)
class StackSituation:
    """Where a stack stands.

    Attributes:
        stage: a key of `NEXT`.
        attempt: number of the attempt, from 1.
        max_attempts: how many there may be; 0 where that is not known.
        source: the level that is asked.
        index: of the step that is under way, or comes next, from 0.
        total: number of steps; 0 where it is not known.
        after: the step after it in words; empty where it is the last one.
        outcome: how the goal ended, in a sentence.
    """

    stage: str
    attempt: int = 0
    max_attempts: int = 0
    source: str = ''
    index: int = 0
    total: int = 0
    step: str = ''
    after: str = ''
    reason: str = ''
    outcome: str = ''


NEXT = {
    'idle': 'The arm stands still until a task is sent.',
    'waiting': 'The task waits for its turn; until then nothing moves for it.',
    'translating': 'Your words are made into a task first; nothing moves before a plan is proved.',
    'generating': '{asked} writes {try_}; the arm stands still until a plan is proved safe.',
    'verifying': '{Try_} is checked against every rule; only a plan that is proved safe may move '
    'the arm.',
    'rehearsing': 'The proved plan is rehearsed on the twin first; if nothing is hit, the arm '
    'begins with step 1{first}.',
    'searching': 'The search planner looks for a plan, which is then checked like any other; until '
    'then the arm stands still.',
    'approval': 'The plan is proved safe and waits for you: if you approve it, the arm begins with '
    'step 1 of {total}{first}; if you refuse, nothing moves.',
    'preparing': 'The plan is proved safe: the arm prepares, then begins with step 1{first}.',
    'executing': 'The arm executes step {number} of {total}{first}; {then}.',
    'replanning': 'The world is not as foreseen{why}: the arm stands still while a new plan is '
    'made and proved.',
    'stopped': 'Everything is stopped{why}: the arm holds still and takes no task until you reset '
    'it.',
    'ended': '{outcome} The arm stands still until the next task.',
    'no stack': 'No stack answers, so nothing can be sent and nothing is known of the arm: start '
    'one with "safegen up sim".',
}  # fmt: skip
"""What comes next in each stage."""


def next_words(situation: StackSituation) -> str:
    """What will happen next, as one sentence; of a stage that is not known, that it is not."""
    s = situation
    if s.stage not in NEXT:
        return f'What comes next is not known ({s.stage or "no stage was reported"}).'
    of = f' of {s.max_attempts}' if s.max_attempts else ''
    attempt = f'attempt {s.attempt}{of}' if s.attempt else 'an attempt'
    number = s.index + 1
    then = 'after that the world is looked at, and the goal should be reached'
    if number < s.total:
        told = f': {s.after}' if s.after else ''
        then = f'if the world is then as foreseen, step {number + 1} follows{told}'
    return (
        NEXT[s.stage]
        .format(
            asked=_asked(s.source),
            try_=attempt,
            Try_=attempt[0].upper() + attempt[1:],
            number=number,
            total=s.total or '?',
            first=f': {s.step}' if s.step else '',
            then=then,
            why=f' ({" ".join(s.reason.split())})' if s.reason else '',
            outcome=_sentence(s.outcome) or 'The goal has ended.',
        )
        .strip()
    )


def _asked(source: str) -> str:
    if source in ('', 'model'):
        return 'The language model'
    if source == 'search':
        return 'The search planner'
    return f'The planner ({source})'

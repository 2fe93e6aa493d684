# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A PDDL3 planning task: what a goal message holds, read and checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from safegen_ros.errors import ErrorCode, PddlError, PlanFormatError, SafegenError
from safegen_ros.language.additions import with_rules
from safegen_ros.language.english import constraint_sentence
from safegen_ros.language.reading import Reading
from safegen_ros.paths import data_path
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.diagnostics import excerpt
from safegen_ros.pddl.ground import goal_tests
from safegen_ros.pddl.model import Domain, Problem, State
from safegen_ros.pddl.moments import follows, plan_of_steps, steps_of_plan
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.reader import read_domain
from safegen_ros.pddl.sexpr import respelt
from safegen_ros.pddl.text_files import read_text
from safegen_ros.pddl.writer import constraint_text, domain_text, formula_text
from safegen_ros.planning.loop import Level, Steps, read_plan
from safegen_ros.tasks.cells import CellSetup, MultiRobotCell
from safegen_ros.tasks.context import (
    PlanningContext,
    StepAnswer,
    StepOutcome,
    StepwiseRun,
)
from safegen_ros.tasks.pddl3.domains import builtin_domain, builtin_domain_text, domain_files
from safegen_ros.tasks.pddl3.formats import FORMATS, PDDL, format_of, known_format, written
from safegen_ros.verdict import Verdict
from safegen_ros.verify.admissible import verify_step
from safegen_ros.verify.run_monitor import RunMonitor, TimedRunMonitor, check_atoms
from safegen_ros.verify.timed_actions import TimedActions
from safegen_ros.verify.validator import Validator

_BEGINNINGS = {'pddl': '(', 'json': '{', 'english': 'Problem '}


@dataclass(frozen=True)
class Pddl3Task:
    """A problem with its domain, as text and as model.

    Attributes:
        format: name of that format, a key of `formats.FORMATS`.
        sent_domain: the domain as it was sent; empty for a built-in one.
    """

    problem: Problem
    domain_text: str
    problem_text: str
    format: str = PDDL
    sent_domain: str = ''

    rest_format = ''

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.problem.name

    @cached_property
    def problem_pddl(self) -> str:
        """PDDL of the problem, for readers of nothing else; the text itself where it is PDDL."""
        return self.problem_text if self.format == PDDL else FORMATS[PDDL].write(self.problem)

    def written_as(self, format: str) -> Pddl3Task:
        """The same task with its text in another format; as it is in its own.

        Raises:
            SafegenError: there is no such format (`UNKNOWN_FORMAT`).
        """
        if known_format(format) == self.format:
            return self
        return replace(self, problem_text=FORMATS[format].write(self.problem), format=format)

    def with_rules(self, readings: Sequence[Reading]) -> Pddl3Task:
        """The task with the constraints of readings, in its format; see `additions.with_rules`."""
        problem = with_rules(self.problem, readings)
        text = written(self.format, problem, self.problem.spelling)
        return replace(self, problem=problem, problem_text=text)

    @cached_property
    def validator(self) -> Validator:
        """The validator of this task; it keeps its grounding."""
        return Validator(self.problem)

    @cached_property
    def _parsed(self) -> Callable[[str], Plan]:
        """Reads a plan, and keeps the last one: its verdict and its steps are asked for in turn."""
        timed = bool(self.problem.domain.durative)
        return lru_cache(maxsize=1)(lambda text: parse_plan(text, timed=timed))

    @property
    def world(self) -> str:
        """The name of its domain."""
        return self.problem.domain.name

    @property
    def pddl(self) -> str:
        """PDDL of the problem where it was sent in another format; empty where not."""
        return '' if self.format == PDDL else self.problem_pddl

    @property
    def objects(self) -> tuple[str, ...]:
        """Those of the problem."""
        return tuple(self.problem.objects)

    @property
    def init(self) -> State:
        """The initial state."""
        return self.problem.init

    def verify(self, answer: str | Plan, *, step_by_step: bool = False) -> Verdict:
        """The verdict on a plan or on the text of one; see `ActionTask.verify`."""
        if isinstance(answer, str):
            with suppress(PlanFormatError):  # the verdict names the error
                answer = self._parsed(answer)
        if step_by_step:
            return verify_step(self.problem, answer)
        return self.validator.verify(answer)

    def second_opinion(self, answer: str) -> Verdict:
        """The verdict that VAL agrees with."""
        from safegen_ros.verify.second_opinion import verify_twice

        return verify_twice(self.problem, answer, validator=self.validator)

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        """The levels of the strategy, as of `planning.strategy.levels_for`."""
        # The planners are loaded once a PDDL task is planned for.
        from safegen_ros.tasks.pddl3.planning.strategy import levels_for

        return levels_for(self.problem, self.format, context)

    def cell(self, setup: CellSetup) -> MultiRobotCell:
        """The arm for blocks, or a symbolic cell."""
        from safegen_ros.tasks.pddl3.cells import cell_for

        start = setup.start_file
        return cell_for(
            self.problem, setup, load_files(data_path(start)).problem.init if start else None
        )

    def play(self, run: StepwiseRun) -> StepOutcome:
        """Each step is the first of a plan that is proved from the observed state."""
        from safegen_ros.tasks.pddl3.planning.replan import play

        def levels(rest: Problem) -> Sequence[Level]:
            domain, text = self.rest(rest)
            return load_task(text, domain).levels(run.planning)

        return play(self.problem, levels, run)

    def replay(self, answers: Sequence[str], told: Callable[[StepAnswer], None]) -> Verdict:
        """Refused: answers alone do not have the observations."""
        raise SafegenError(
            'a PDDL task is replayed with its observations', ErrorCode.UNSUPPORTED_FEATURE
        )

    def steps_of(self, answer: str, *, step_by_step: bool = False) -> Steps:
        """The steps in the text of a plan; none where it cannot be read.

        Each is one action, or a moment where actions overlap in time; see `pddl.moments`.
        """
        timed = self.problem.timed
        try:
            plan = self._parsed(answer)
            if not self.problem.domain.durative:
                return tuple((step,) for step in plan.steps)
            if timed and not plan.times:
                plan = TimedActions(self.problem).timed(plan)
        except (PlanFormatError, KeyError, ValueError):
            return () if self.problem.domain.durative else read_plan(answer)
        return steps_of_plan(plan, timed)

    def answer_of(self, steps: Steps, *, step_by_step: bool = False) -> str:
        """The text of steps; raises `SafegenError` where one has several actions."""
        return str(plan_of_steps(steps))

    def monitor(self, steps: Steps, *, step_by_step: bool = False) -> RunMonitor:
        """What watches an execution of steps that are proved."""
        plan = plan_of_steps(steps)
        if not step_by_step and (self.problem.timed or not follows(plan)):
            return TimedRunMonitor(self.problem, plan)
        return (StepMonitor if step_by_step else RunMonitor)(self.problem, plan)

    def rest(self, remaining: object) -> tuple[str, str]:
        """PDDL of the domain, empty where it is a built-in one, and of the rest of the task."""
        if not isinstance(remaining, Problem):
            raise TypeError(f'{remaining!r} is not what is left of a PDDL task')
        # Constraints of a domain are among those that are left, and must not be asked for twice.
        own = re.search(r':constraints', self.sent_domain, re.IGNORECASE)
        domain = domain_text(remaining.domain) if own else self.sent_domain
        spelling = self.problem.spelling
        return respelt(domain, spelling) if own else domain, written(PDDL, remaining, spelling)

    def conditions(self, state: State) -> tuple[tuple[str, bool], ...]:
        """Each part of the goal, and whether it holds in a state."""
        return conjuncts(self.problem, state)

    def summary(self) -> tuple[tuple[str, str], ...]:
        """Its objects, its goal and its constraints, in words and in PDDL."""
        lines = [('objects', ' '.join(self.problem.objects))]
        lines.append(('goal', formula_text(self.problem.goal)))
        for constraint in self.problem.constraints:
            lines.append(('constraint', constraint_sentence(constraint, self.problem)))
            lines.append(('', constraint_text(constraint)))
        return tuple(lines)


def conjuncts(problem: Problem, state: State) -> tuple[tuple[str, bool], ...]:
    """Each part of the goal of a problem with whether it holds in a state."""
    table = AtomTable(problem, fold_static=False)
    bits = table.encode(state)
    return tuple((formula_text(f), test(bits)) for f, test in goal_tests(problem, table))


def load_task(
    problem_text: str,
    domain_text: str = '',
    *,
    format: str = PDDL,
    problem_source: str = '<problem>',
    domain_source: str = '<domain>',
    any_name: bool = False,
) -> Pddl3Task:
    """Reads a task.

    Args:
        domain_text: PDDL of its domain; empty for the built-in one that the problem names.
        format: what the problem is written in, a key of `formats.FORMATS`; empty for PDDL.
        problem_source: file name of the problem, or a label, for messages.
        domain_source: likewise for the domain.
        any_name: whether the problem may name another domain than the one that is given.

    Raises:
        SafegenError: `PddlError` with the place in the text, a domain that is not built in, or a
            format that is not known.
    """
    form = FORMATS[known_format(format)]
    if not problem_text.strip():
        raise PddlError(
            'the text is empty',
            source=problem_source,
            line=1,
            column=1,
            cure='write a problem with its goal',
            code=ErrorCode.EMPTY_TASK,
        )
    own, sent = bool(domain_text.strip()), domain_text
    if own:
        domain = read_domain(domain_text, domain_source)
    try:
        if not own or any_name:
            named = form.domain_name(problem_text, problem_source)
            if not own and named not in domain_files():
                raise _not_built_in(named, problem_text, known_format(format), problem_source)
            if not own:
                domain, domain_text = builtin_domain(named), builtin_domain_text(named)
            domain = replace(domain, name=named)
        problem = form.read(problem_text, domain, problem_source)
    except PddlError as error:
        for each in error.errors:
            each.excerpt = each.excerpt or excerpt(problem_text, each)
        raise
    return Pddl3Task(problem, domain_text, problem_text, known_format(format), sent)


def load_files(
    problem: Path, domain: Path | None = None, *, format: str = '', any_name: bool = False
) -> Pddl3Task:
    """The task in a problem file and, when there is one, a domain file.

    Args:
        domain: the domain's file, in PDDL; None for the built-in one that the problem names.
        format: format of the problem; empty to derive it from the file name.
        any_name: whether the problem may name another domain than the one in that file.

    Raises:
        SafegenError: a file cannot be read, or `load_task` refuses what is in it.
    """
    domain_text = '' if domain is None else read_text(domain, 'domain')
    if domain is not None and not domain_text.strip():
        raise SafegenError(
            f'{domain}: the domain is empty: write a (define (domain ...) ...) form',
            ErrorCode.EMPTY_TASK,
        )
    text = read_text(problem, 'problem')
    form = known_format(format or format_of(problem))
    begun = next(
        (name for name, start in _BEGINNINGS.items() if text.lstrip().startswith(start)), ''
    )
    if begun and begun != form:
        raise SafegenError(
            f'{problem}: begins like a problem in {begun}, but its name or --read-as says {form}: '
            f'give --read-as {begun}, or a name that ends with {FORMATS[begun].suffix}',
            ErrorCode.BAD_PDDL,
        )
    return load_task(
        text,
        domain_text,
        format=form,
        problem_source=str(problem),
        domain_source=str(domain or '<domain>'),
        any_name=any_name,
    )


def _not_built_in(name: str, text: str, format: str, source: str) -> PddlError:
    """The error that a domain is not built in, at the place where the text names it."""
    line = column = 0
    try:
        FORMATS[format].read(text, Domain('', {}, {}, {}, {}), source)  # which no text can name
    except PddlError as error:
        found = (each for each in error.errors if each.code is ErrorCode.UNKNOWN_DOMAIN)
        line, column = next(((each.line, each.column) for each in found), (0, 0))
    return PddlError(
        f'domain {name!r} is not built in',
        source=source,
        line=line,
        column=column,
        cure='add its PDDL (on the command line --domain FILE), name its folder in '
        f'SAFEGEN_DOMAIN_PATH, or use one of {" ".join(domain_files())}',
        code=ErrorCode.UNKNOWN_DOMAIN,
    )


class StepMonitor(RunMonitor):
    """Watches one step, behind which the goal need not hold, or a look at the world."""

    def look(self, observed: State) -> None:
        """As `RunMonitor`; a look alone finds the state, and breaks nothing."""
        if self.plan.steps:
            return super().look(observed)
        check_atoms(self.problem, observed)
        self.observed = observed
        self.looks += 1

    def finish(self) -> None:
        """Asks for nothing: the task goes on."""

    def remaining(self) -> Problem | None:
        """The rest of the task; as long as no step was taken, all of it."""
        if self.looks > 1 or self.observed is None:
            return super().remaining()
        # A belief from before the look has satisfied nothing.
        domain = replace(self.problem.domain, constraint_tree=None)
        return replace(self.problem, domain=domain, init=self.observed)

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen verify`: the verdict on plans, for a person or for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from safegen_ros.cli.completion import complete_problem
from safegen_ros.cli.display import ranking_values, show_verdict, verdict_values
from safegen_ros.cli.failures import (
    AnyName,
    ExitStatus,
    Verbose,
    error_values,
    guarded,
    print_error,
)
from safegen_ros.errors import ErrorCode, PlanFormatError, SafegenError
from safegen_ros.goals.files import (
    STDIN,
    DomainFile,
    ReadAs,
    plan_text,
    read_task,
    without_domain,
)
from safegen_ros.pddl.diagnostics import excerpt
from safegen_ros.pddl.extract import Extraction, extract_plan
from safegen_ros.pddl.model import Number, Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.pddl.writer import value_text
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.terminal import Console
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.cost import Ranking, rank


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """Whether a plan is taken out of other text, VAL must agree, and a better one is sought [s]."""

    lenient: bool
    second_opinion: bool
    best_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result for one plan text.

    Attributes:
        plan: the steps; None when the text is not a plan.
        error: why it is not a plan, or None.
        extraction: the plan extracted from other text; None when the text itself is the plan.
        confirmed: whether the second opinion let the verdict stand; None when none was asked for.
        notes: what is right in the constraints and hardly meant.
        ranking: the value of the metric; None without a metric, and for a plan that fails.
        best: the best known value of the metric; None when it was not asked for.
    """

    verdict: Verdict
    plan: Plan | None
    text: str
    error: PlanFormatError | None = None
    extraction: Extraction | None = None
    confirmed: bool | None = None
    notes: tuple[str, ...] = ()
    ranking: Ranking | None = None
    best: BestKnown | None = None


@dataclass(frozen=True, slots=True)
class BestKnown:
    """The best value of a metric that is known, and whether it is proved that none is better."""

    value: Number
    proved: bool


def best_known(problem: Problem, seconds: float) -> BestKnown | None:
    """What a search for the best plan found in some time; None where it found no plan in it."""
    from safegen_ros.search.solve import solve

    try:
        found = solve(problem, optimal=True, time_limit_s=seconds)
    except SafegenError:
        return None  # then the plan that is judged is the best known one
    ranking = rank(problem, found.plan)
    if ranking is None or ranking.value is None:
        return None
    return BestKnown(ranking.value, found.optimal)


def _better(problem: Problem, ranking: Ranking | None, found: BestKnown | None) -> BestKnown | None:
    """The better one of a plan and what a search found."""
    if ranking is None or ranking.value is None or problem.metric is None:
        return None
    if found is None:
        return BestKnown(ranking.value, False)
    better = min if problem.metric.direction == 'minimize' else max
    return found if found.proved else BestKnown(better(found.value, ranking.value), False)


def judge(
    task: Pddl3Task, text: str, options: VerifyOptions, found: BestKnown | None = None
) -> Judgement:
    """Judges one plan text, beside what a search for the best plan found."""
    extraction = None
    try:
        if options.lenient:
            plan, taken = extract_plan(text, task.problem)
            extraction = None if taken.whole else taken
        else:
            plan = parse_plan(text, timed=bool(task.problem.domain.durative))
    except PlanFormatError as error:
        return Judgement(Verdict(Category.FORMAT_ERROR, error.message), None, text, error)
    confirmed = None
    if options.second_opinion:
        from safegen_ros.verify.second_opinion import verify_twice

        verdict = verify_twice(task.problem, plan, validator=task.validator)
        confirmed = verdict.category is not Category.UNKNOWN
    else:
        verdict = task.verify(plan)
    ranking = rank(task.problem, plan) if verdict.ok else None
    return Judgement(
        verdict,
        plan,
        text,
        extraction=extraction,
        confirmed=confirmed,
        notes=task.problem.notes,
        ranking=ranking,
        best=_better(task.problem, ranking, found) if options.best_s else None,
    )


def _print_json(name: str, found: Judgement, errors: list[dict[str, Any]]) -> None:
    """Prints the line of JSON for a plan."""
    values = {
        'plan': name,
        **verdict_values(found.verdict, found.plan.steps if found.plan is not None else None),
        'extracted': None if found.extraction is None else asdict(found.extraction),
        'second_opinion': found.confirmed,
        'notes': list(found.notes),
        'metric': None if found.ranking is None else _metric_values(found.ranking, found.best),
        'errors': errors,
    }
    print(json.dumps(values), flush=True)


def _metric_values(ranking: Ranking, best: BestKnown | None) -> dict[str, Any]:
    values = ranking_values(ranking)
    if best is not None:
        values |= {'best': float(best.value), 'best_proved': best.proved}
    return values


def _beside(best: BestKnown | None) -> str:
    if best is None:
        return ''
    proof = 'proved' if best.proved else 'not proved'
    return f'; best known: {value_text(best.value)}, {proof} to be the best'


def _print_text(console: Console, name: str, found: Judgement, lenient: bool) -> None:
    """Prints a verdict for a person, and the place in the text where that is not a plan.

    Args:
        name: of the plan; empty where it is the only one.
        lenient: whether steps were taken out of other text.
    """
    show_verdict(console, found.verdict, None if found.plan is None else found.plan.steps, name)
    if found.extraction is not None:
        print(f'  extracted: {found.extraction}')
    if found.ranking is not None:
        print(f'  metric: {found.ranking}{_beside(found.best)}')
    if not found.verdict.ok:  # the reason of a success has them
        for note in found.notes:
            print(f'  note: {note}')
    if found.error is not None and (shown := excerpt(found.text, found.error)):
        print(shown)
        if not lenient:
            print('  --lenient takes the steps out of other text, such as the output of a planner')


def verify(
    problem: Annotated[
        Path,
        typer.Argument(
            help='problem file with its constraints (PDDL, JSON or English); a PDDL domain '
            'file may come first',
            autocompletion=complete_problem,
        ),
    ],
    plans: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='PLAN',
            help='plan files, one step such as (stack a b) per line (default: -, stdin)',
        ),
    ] = None,
    domain: DomainFile = None,
    as_json: Annotated[
        bool, typer.Option('--json', help='print one line of JSON per plan and nothing else')
    ] = False,
    second_opinion: Annotated[
        bool, typer.Option('--second-opinion', help='refuse a plan unless VAL agrees')
    ] = False,
    lenient: Annotated[
        bool, typer.Option('--lenient', help='extract the steps from surrounding text')
    ] = False,
    best: Annotated[
        float,
        typer.Option(
            '--best',
            min=0,
            metavar='SECONDS',
            help='search this long for the best plan, and print its metric, too [s]',
        ),
    ] = 0.0,
    read_as: ReadAs = '',
    any_name: AnyName = False,
    verbose: Verbose = False,
) -> None:
    """Print the verdict on plans.

    Exit status: 0 every plan is proved, 1 a plan is not, 2 bad input, 3 internal error; the
    highest one of several plans.
    """
    domain, names = without_domain([str(problem), *(plans or ())], domain)
    problem, plans = Path(names[0]), names[1:] or [STDIN]
    if len(names) == 1 and sys.stdin.isatty():
        raise typer.BadParameter('give a plan file, or the plan on standard input')
    console, options = Console(), VerifyOptions(lenient, second_opinion, best)

    def whole() -> int:
        if plans.count(STDIN) > 1:
            raise SafegenError(
                f'{STDIN}: {plans.count(STDIN)} plans are to come from standard input, which can '
                'be read once only: write the others to files',
                ErrorCode.BAD_PDDL,
            )
        task = read_task(problem, domain, format=read_as, any_name=any_name)
        known = best_known(task.problem, best) if best and task.problem.metric else None
        return max(
            guarded(partial(one, task, name, known), partial(failed, [name]), verbose)
            for name in plans
        )

    def one(task: Pddl3Task, name: str, known: BestKnown | None) -> int:
        found = judge(task, plan_text(name), options, known)
        if as_json:
            _print_json(name, found, [] if found.error is None else error_values(found.error))
        else:
            _print_text(console, name if len(plans) > 1 else '', found, lenient)
        return ExitStatus.OK if found.verdict.ok else ExitStatus.FAILED

    def failed(names: Sequence[str], error: Exception, message: str) -> None:
        if not as_json:
            print_error(message)
            return
        for name in names:
            found = Judgement(Verdict(Category.UNKNOWN, message), None, '')
            _print_json(name, found, error_values(error))

    raise typer.Exit(guarded(whole, partial(failed, plans), verbose))

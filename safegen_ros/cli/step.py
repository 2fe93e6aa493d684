# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen step`: one task, step by step, in this process; no ROS is needed."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.cli.completion import TaskFiles, problem_and_domain
from safegen_ros.goals.files import DomainFile, ReadAs, find_problem, in_order, read_task, read_text
from safegen_ros.planning.levels import HIERARCHY, LEVELS, level_names

_EXAMPLE = [Path('examples/tower_order.pddl')]
STRATEGY = f'beam, model, {HIERARCHY}'


def step(
    files: TaskFiles = _EXAMPLE,
    domain: DomainFile = None,
    read_as: ReadAs = '',
    cell: Annotated[
        str,
        typer.Option(
            help='where to execute: twin (simulated arm), symbolic (no motion), or auto '
            '(twin where it can show the task)'
        ),
    ] = 'auto',
    model: Annotated[
        str, typer.Option(help='model folder, or http://HOST:PORT/v1#MODEL')
    ] = 'models/safegen-mini',
    strategy: Annotated[
        str, typer.Option(help=f'planners to try, in order, comma-separated: {", ".join(LEVELS)}')
    ] = STRATEGY,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help='seed of the model')] = 0,
    max_steps: Annotated[
        int, typer.Option(min=1, max=10_000, help='maximum number of steps')
    ] = 200,
    time_budget: Annotated[
        float, typer.Option(min=1, max=86400, help='seconds for planning and execution')
    ] = 240.0,
) -> None:
    """Work on one task step by step: observe, choose, prove, take one step, observe again.

    The exit status is 0 when the goal was observed to hold, 1 when it was not, 2 for bad input.
    """
    from safegen_ros.cli.step_run import StepRun
    from safegen_ros.llm.backend import Sampling
    from safegen_ros.llm.model_names import named_model
    from safegen_ros.llm.open_backend import open_backend
    from safegen_ros.planning.loop import SEARCH
    from safegen_ros.tasks.pddl3.cells import choose_cell
    from safegen_ros.tasks.pddl3.planning.proposer import ModelProposer
    from safegen_ros.tasks.pddl3.planning.stepwise import Limits
    from safegen_ros.tasks.pddl3.prompts.styles import style_of

    levels = level_names(strategy)
    problem, domain = problem_and_domain(files, domain)
    path, domain = in_order(find_problem(problem), domain)
    task = read_task(path, domain, format=read_as)
    domain_text = read_text(domain, 'domain') if domain else ''
    chosen, sampling = choose_cell(path, task.problem, cell), Sampling(seed=seed)
    limits = Limits(max_steps, time_budget)
    begin = partial(StepRun, task, str(path), domain_text, chosen, str(domain or '<domain>'))
    if set(levels) == {SEARCH}:  # without a model, and without what a model needs
        raise typer.Exit(begin().work('', None, strategy, sampling, limits))
    name = named_model(model)
    style = style_of(name)
    with closing(open_backend(name)) as backend:
        whole = ModelProposer(task.problem, backend, style, sampling, format=task.format)
        raise typer.Exit(begin().work(name, whole.part, strategy, sampling, limits))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finite-domain tasks are read as they are written, and lose only what does not matter."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from support import strategies
from support.finite_domain import Simulator, Translator, positions

from safegen_ros.errors import SafegenError
from safegen_ros.search.budget import Unsolvable
from safegen_ros.search.regression import compile_constraints
from safegen_ros.search.sas import (
    Axiom,
    SasEffect,
    SasOperator,
    SasTask,
    SasVariable,
    read_sas,
    relevant_part,
    write_sas,
)

LAMP = SasTask(
    (
        SasVariable(('Atom lit(l1)', 'NegatedAtom lit(l1)'), 1),
        SasVariable(('Atom at(r, a)', 'Atom at(r, b)', '<none of those>'), 0),
        SasVariable(('Atom axiom()', 'NegatedAtom axiom()'), 1, layer=0),
    ),
    (((0, 0), (1, 2)),),
    {2: 0},
    (
        SasOperator('press l1', {1: 1, 0: 1}, (SasEffect((), 0, 0),)),
        SasOperator('go a b', {1: 0}, (SasEffect((), 1, 1), SasEffect(((0, 0),), 0, 1))),
    ),
    (Axiom(((0, 0), (1, 1)), 2, 0),),
)


def test_a_task_is_read_as_it_is_written() -> None:
    text = write_sas(LAMP)
    assert read_sas(text) == LAMP
    assert LAMP.atoms() == {
        ('lit', 'l1'): (0, 0), ('at', 'r', 'a'): (1, 0), ('at', 'r', 'b'): (1, 1),
        ('axiom',): (2, 0),
    }  # fmt: skip


def test_a_text_that_is_cut_off_is_refused() -> None:
    lines = write_sas(LAMP).splitlines()
    for count in range(len(lines)):
        with pytest.raises(SafegenError, match='cannot be read'):
            read_sas('\n'.join(lines[:count]))


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('begin_version\n3', 'begin_version\n4'),
        ('begin_goal\n1\n2 0', 'begin_goal\n1\n2 x'),
        ('end_operator', 'end_operators'),
        ('begin_goal\n1', 'begin_goal\n2'),
    ],
)
def test_another_format_is_refused(old: str, new: str) -> None:
    text = write_sas(LAMP)
    assert old in text
    with pytest.raises(SafegenError, match='requirements/'):
        read_sas(text.replace(old, new))


def _shortest(task: SasTask) -> int | None:
    """Number of operators of a shortest plan."""
    simulator = Simulator(task)
    names = sorted({operator.name for operator in task.operators})
    depths = {simulator.initial: 0}
    queue = deque(depths)
    while queue and len(depths) < 3_000:
        state = queue.popleft()
        if simulator.solved(state):
            return depths[state]
        for name in names:
            after = simulator.apply(state, name)
            if after is not None and after not in depths:
                depths[after] = depths[state] + 1
                queue.append(after)
    return None


@strategies.examples(60)
@given(strategies.SEEDS)
def test_the_relevant_part_has_the_same_shortest_plans(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 3 else strategies.blocks(rng, 2)
    task = Translator(problem, [] if seed % 3 else positions(problem)).task
    try:
        compiled = compile_constraints(problem, task)
    except Unsolvable:
        return
    part = relevant_part(compiled)
    assert read_sas(write_sas(part)) == part
    assert len(part.variables) <= len(compiled.variables)
    assert relevant_part(part) == part
    assert _shortest(part) == _shortest(compiled)


def test_what_has_no_bearing_on_the_goal_goes() -> None:
    extra = SasOperator('whistle', {1: 0}, (SasEffect((), 3, 1),))
    whistled = SasVariable(('NegatedAtom whistled()', 'Atom whistled()'), 0)
    larger = SasTask(
        (*LAMP.variables, whistled), LAMP.mutexes, LAMP.goal, (*LAMP.operators, extra), LAMP.rules
    )
    assert relevant_part(larger) == LAMP

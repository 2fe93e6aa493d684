# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The site file: read strictly, and its rules on every task."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.blocks_small import THREE, THREE_TEXT
from support.strategies import examples

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.paths import share_dir
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.site import Site, bind, load_site, read_site
from safegen_ros.verdict import Category

PLAN = '(pickup a)(stack a b)(pickup c)(stack c a)'
SITE = Path(__file__).with_name('site.yaml').read_text(encoding='utf-8')


def rule(text: str, objects: str = 'a, b, c') -> Site:
    constraints = f'objects: [{objects}], constraints: ["{text}"]'
    return read_site(f'domains: {{blocksworld: {{{constraints}}}}}', 'site.yaml')


def test_every_part_of_a_site() -> None:
    site = read_site(SITE, 'site.yaml')
    assert (site.approve_always, site.speed_limit) == (True, 0.25)
    assert site.senders == {'alice', 'bob'}
    assert [(each.place, each.objects) for each in site.rules] == [
        ('site.yaml:6:9', {'b', 'c'}),
        ('site.yaml:7:9', {'c'}),
        ('site.yaml:8:9', frozenset()),
        ('site.yaml:9:9', {'b7'}),
    ]
    (box,) = site.keep_out
    assert (str(box), box.low, box.high) == ('keep-out box window', (0, 0, 0), (0.1, 0.2, 0.3))


def test_the_rules_are_on_every_task() -> None:
    bound = bind(THREE, read_site(SITE, 'site.yaml'))
    texts = [constraint_text(each) for each in bound.task.problem.constraints]
    # What the goal asks for itself is asked for once, and comes first.
    assert texts[0] == '(always (not (on c b)))'
    assert texts[1:] == [
        '(always (not (exists (?x) (on ?x c))))',
        *(f'(at-most-once (holding {name}))' for name in 'abc'),
    ]
    assert bound.notes == ('site.yaml:9:9: does not apply: the task has no b7',)
    again = load_task(bound.task.problem_text)
    assert again.problem.constraints == bound.task.problem.constraints
    assert bind(bound.task, read_site(SITE, 'site.yaml')).task is bound.task


def test_a_plan_that_breaks_a_rule_names_its_place() -> None:
    task = bind(THREE, rule('(always (not (holding c)))'))
    assert THREE.verify(PLAN).ok
    broken = task.task.verify(PLAN)
    assert broken.category is Category.SAFETY_VIOLATION
    assert broken.broken[0].place.startswith('site.yaml:1:')
    step = task.task.verify('(pickup c)', step_by_step=True)
    assert step.category is Category.SAFETY_VIOLATION


@pytest.mark.parametrize('text', ['(always (not (on a b)))', '(always (not (clear a)))'])
def test_a_goal_that_contradicts_the_site_is_refused_by_name(text: str) -> None:
    with pytest.raises(SafegenError, match=r'site\.yaml:1:\d+ \(') as caught:
        bind(THREE, rule(text))
    assert caught.value.code is ErrorCode.SITE_REFUSED
    assert text in caught.value.message


def test_another_name_of_the_domain_is_no_way_around() -> None:
    own = builtin_domain_text('blocksworld').replace('blocksworld', 'mine')
    text = THREE_TEXT.replace('blocksworld', 'mine')
    bound = bind(load_task(text, own), rule('(always (not (holding c)))'))
    assert not bound.task.verify(PLAN).ok
    strange = own.replace('mine', 'blocksworld').replace('holding', 'grips')
    task = load_task(THREE_TEXT, strange)
    with pytest.raises(SafegenError, match='cannot be read for domain blocksworld'):
        bind(task, rule('(always (not (holding c)))'))


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('', '1:1: the file is empty'),
        ('{}', '1:1: the site file has no rule'),
        ('rules: []', "1:1: 'rules' is not a key"),
        ('approval: never', "1:1: 'never' is not an approval"),
        ('speed_limit: 2', '1:1: speed_limit must be a number'),
        ('speed_limit: true', '1:1: speed_limit must be a number'),
        ('domains: {ferrry: {constraints: []}}', "1:11: 'ferrry' is not a built-in domain"),
        ('domains: {blocksworld: {}}', 'domain blocksworld has no constraints'),
        ('domains: {blocksworld: {constraints: []}}', 'there is no constraint'),
        (
            'domains:\n  blocksworld:\n    constraints:\n      - (always (on a b))',
            "site.yaml:4:9: .*'a' is not declared: list each object",
        ),
        ('keep_out: [{name: w, min: [0, 0, 0], max: [0, 1, 1]}]', 'max is not above min'),
        ('keep_out: [{name: w, min: [0, 0], max: [1, 1, 1]}]', 'min has 2 numbers'),
        ('keep_out: [{name: w, min: [0, 0, 0]}]', 'the box has no max'),
        ('senders: [Alice]', "1:11: 'Alice' is not a name"),
        ('senders: [installation]', 'is not a name of a key'),
        ('approval: always\napproval: always', '2:1: .*twice'),
        ('approval: &a always', ''),
        ('a: *b', 'an alias'),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(text: str, why: str) -> None:
    if not why:
        assert read_site(text, 'site.yaml').approve_always
        return
    with pytest.raises(PddlError, match=why):
        read_site(text, 'site.yaml')


@pytest.mark.slow
@examples(300)
@given(at=st.integers(0, len(SITE) - 1), with_=st.characters(codec='utf-8') | st.just(''))
def test_a_damaged_file_is_a_site_or_an_error_with_its_place(at: int, with_: str) -> None:
    found = ''
    try:
        read_site(SITE[:at] + with_ + SITE[at + 1 :], 'site.yaml')
    except PddlError as error:
        found = error.message
    assert not found or re.match(r'site\.yaml:[1-9]', found)


def test_the_digest_is_of_every_byte(tmp_path: Path) -> None:
    path = tmp_path / 'site.yaml'
    path.write_text(SITE)
    first = load_site(path).digest
    path.write_text(SITE + '#')
    assert len(first) == 64 != load_site(path).digest != first
    path.write_bytes(b'\xff')
    with pytest.raises(SafegenError, match='not UTF-8'):
        load_site(path)
    with pytest.raises(SafegenError, match='cannot be read'):
        load_site(tmp_path / 'none.yaml')


def test_the_shipped_file_is_a_site() -> None:
    assert len(load_site(share_dir() / 'config' / 'site.yaml').rules) == 2


def box_at(x: float, y: float, z: float, half: float = 0.01) -> Site:
    low, high = [x - half, y - half, z - half], [x + half, y + half, z + half]
    return read_site(f'keep_out: [{{name: box, min: {low}, max: {high}}}]', 'site.yaml')


def test_nothing_enters_a_keep_out_box() -> None:
    """Neither the block that is carried nor the arm; what stays outside is not disturbed."""
    scene = load_scene()
    plan = parse_plan(PLAN)
    free = rehearse(THREE.problem, plan, box_at(-0.3, 0.0, 0.3).applied(scene))
    plain = rehearse(THREE.problem, plan, scene)
    assert free.verdict.ok
    assert free.simulated_s == pytest.approx(plain.simulated_s, abs=0.05)  # not pushed aside
    poses = initial_layout(scene, tuple(THREE.problem.objects), THREE.problem.init).poses
    x, y, _ = poses['b'].position  # on which a is put
    above = box_at(x, y, scene.level_height(1) + 0.02).applied(scene)
    went = rehearse(THREE.problem, plan, above)
    assert went.verdict.category is Category.SAFETY_VIOLATION
    assert went.verdict.failing_step == 1
    assert 'hits keep-out box box' in went.verdict.reason


def test_a_block_that_begins_in_a_keep_out_box_is_found_there() -> None:
    scene = load_scene()
    poses = initial_layout(scene, tuple(THREE.problem.objects), THREE.problem.init).poses
    x, y, z = poses['c'].position
    for offset in (0.0, 0.024):  # in the middle of it, and by a millimetre
        boxed = box_at(x + offset, y, z).applied(scene)
        with pytest.raises(SafegenError, match=r'c hits keep-out box box \(0\.0 N'):
            rehearse(THREE.problem, parse_plan(PLAN), boxed)


def test_the_speed_limit_slows_the_arm() -> None:
    scene = load_scene()
    slow = read_site('speed_limit: 0.1', 'site.yaml').applied(scene)
    plan = parse_plan('(pickup a)')
    fast = rehearse(THREE.problem, plan, scene).simulated_s
    assert rehearse(THREE.problem, plan, slow).simulated_s > 1.5 * fast

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every way in which a domain folder can contradict itself is named, with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.breadth_first import solve
from support.strategies import one_in

from safegen_ros.errors import SafegenError
from safegen_ros.language.english import to_english
from safegen_ros.pddl.model import Domain
from safegen_ros.tasks.pddl3.domains import builtin_domain, folders, inspection, kits
from safegen_ros.tasks.pddl3.domains.check import (
    correlation,
    difficulty,
    spearman,
)
from safegen_ros.tasks.pddl3.domains.folders import domain_folders
from safegen_ros.tasks.pddl3.domains.inspection import DomainFinding, inspect_domain, new_domain
from safegen_ros.tasks.pddl3.domains.kit import DomainKit
from safegen_ros.tasks.pddl3.task import load_task


def _found(problems: int = 5) -> list[DomainFinding]:
    return list(inspect_domain('courier', problems))


@pytest.mark.slow
@pytest.mark.parametrize('name', ['blocksworld', 'ferry', 'grippers', 'spanner'])
def test_the_built_in_domains_are_in_order(name: str) -> None:
    assert list(inspect_domain(name)) == []


def test_a_fresh_folder_is_in_order(courier: Path) -> None:
    assert _found() == []


def test_a_folder_that_is_not_there(courier: Path) -> None:
    with pytest.raises(SafegenError, match=r"no domain folder 'curier': use one of .*courier"):
        list(inspect_domain('curier'))


def _spoil(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding='utf-8')
    assert old in text
    path.write_text(text.replace(old, new), encoding='utf-8')


KIT, PDDL = '__init__.py', 'domain.pddl'
DRAW, FAMILIES = 'problems.py', 'families.py'

SPOILT = [
    # What holds the folder together.
    (PDDL, '(:action go', '(:acton go', r"courier/domain\.pddl:1\d:\d+: .*did you mean ':action'"),
    (PDDL, '(define (domain courier)', '', r'domain\.pddl:\d+:\d+: '),
    (PDDL, '(domain courier)', '(domain other)',
     "defines 'other', but the first of the names of KIT is 'courier': make them equal"),
    (KIT, 'KIT = ', 'OTHER = ', 'domain folder courier: exports no KIT: see the other folders'),
    (KIT, 'KIT = DomainKit(', 'KIT = dict(', 'domain folder courier: exports no KIT'),
    (KIT, "name='courier'", "name='other'", "exports a KIT named 'other': name it as the folder"),
    (KIT, "names=('courier',)", 'names=()', 'a KIT without names'),
    (KIT, 'KIT = ', 'KIT = = ', 'cannot be imported: SyntaxError: '),
    (KIT, "names=('courier',)", "names=('courier', 'ferry')",
     "folder courier: claims the name 'ferry', which is that of ferry: choose"),
    (KIT, 'wide=(2, 4), ', '', 'cannot be imported: TypeError: '),
    (DRAW, 'from random import', 'from rondom import', 'cannot be imported: ModuleNotFoundError'),
    # Sizes and weights.
    (KIT, 'paper=(3, 4)', 'paper=(4, 3)', r"parameter 'places': paper=\(4, 3\) ends before it"),
    (KIT, 'least=2', 'least=4', r"'places': paper=\(3, 4\) is not between least=4 and most=200"),
    (KIT, 'most=1000', 'most=3', r"'things': wide=\(2, 4\) is not between least=1 and most=3"),
    (KIT, 'wide=(2, 4)', 'wide=(3, 4)', r"wide=\(3, 4\) does not hold all of paper=\(2, 3\): make"),
    (KIT, "Parameter('things'", "Parameter('places'", "parameter 'places': stands there 2 times"),
    (KIT, "'things': 0.25", "'cars': 0.25", "weights: none for the parameter 'things': add one"),
    (KIT, "'things': 0.25", "'cars': 0.25", "weights: 'cars' is not a parameter: use places"),
    (KIT, "'things': 0.25", "'things': float('nan')", "weights: that of 'things' is nan: use a"),
    (KIT, '=3.25', "=float('inf')", 'goal_weight: it is inf: use a number of steps'),
    # Words.
    (KIT, "'holding'", "'carrying'", "wording of 'carrying': the domain has no such predicate"),
    (KIT, 'lies at {1}', 'lies there', r'with 2 arguments: it needs \{0\} \{1\}, once'),
    (KIT, 'hand is empty', 'hand {0} is empty', 'with 0 arguments: it needs no slot, once'),
    (KIT, 'hand is empty', 'hand is open and empty', "holds 'and', which joins facts: use other"),
    (KIT, '{0} lies at', "{0}s place is", r"holds '\{0\}s': use plain words, and \{0\}"),
    (KIT, 'the robot is not at {0}', 'the robot is at {0}',
     "wording of 'robot-at': 'the robot is at .0.' reads like 'the robot is at .0.'"),
    (KIT, "'place': (", "'spot': (", "noun for 'spot': the domain has no such thing: use object"),
    (KIT, "'things'", "'small things'", "'small things' is not one plain word in small letters"),
    (KIT, "('object', 'objects')", "('thing', 'objects')", "'thing' is that for 'thing' too"),
    (KIT, 'facts={', "kinds={'thing-at': ('a', 'b')},\n    facts={",
     "wording: kind 'thing-at' is not of one argument: use one of robot-at holding"),
    (KIT, 'facts={', "distinct=('holding', 'thing'),\n    facts={",
     "distinct: 'holding' is not a predicate of two arguments: use one of thing-at"),
    (KIT, 'facts={', "distinct=('thing-at', 'thing'),\n    facts={",
     "distinct: 'thing' is not among the kinds: use none"),
    # Families.
    (KIT, 'families=FAMILIES', 'families={}', 'families: there are none: add one'),
    (KIT, 'families=FAMILIES', "families={'fast': FAMILIES['express']}",
     "family 'fast': the family there is named 'express': make them equal"),
    (FAMILIES, "add('within'", "add('soon'", "family 'express': 'soon' is not an operator of"),
    (FAMILIES, "add('within'", "add('always'",
     "'express', seed 0: its constraints use within, its operators are always: make them equal"),
    (FAMILIES, "add('within'", "add('within', 'always'", 'its operators are always and within'),
    (FAMILIES, "at_least('things', 2)", "at_least('things', 9)",
     "no size in the ranges of its parameters is one that family 'express' can have: give a"),
    # What is drawn.
    (DRAW, "places = [f'p{", "places = [f'p {", 'the generator makes no PDDL: <courier-'),
    (DRAW, "('hand-empty',)", "('hand-free',)", "makes no PDDL: .*'hand-free' is not declared"),
    (DRAW, "(thing, 'thing')", "(thing, 'cat')", "makes no PDDL: .*'cat' is not declared"),
    (DRAW, 'rng.choice(places)', 'places[99]', 'raises IndexError: list index out of range: fix'),
    (DRAW, "Step('take'", "Step('grab'", 'the witness fails: .*: build it so that it obeys'),
    (DRAW, 'robot = Robot(Delivery.of(instance))', 'return ()', 'the direct plan misses the goal'),
    (DRAW, "kinds.count('thing')}", "kinds.count('place')}",
     r"measure returns the size \{'places': 3, 'things': 3\}, drawn was"),
    (DRAW, 'rng.choice(places)', '__import__("random").choice(places)', 'the same seed gives two'),
    (FAMILIES, 'robot.deliver(leaving)\n', '\n', "'never-together', seed .: the witness fails"),
    (FAMILIES, 'within {len(robot.steps)}', 'within {len(robot.steps) + 99}',
     "'express', seed 0: courier: none of .* random problems .* has room for the constraints"),
    (KIT, '{0} lies at {1}', '{0} is the same as {1}', 'english is (not )?read back'),
]  # fmt: skip


@pytest.mark.parametrize(('name', 'old', 'new', 'message'), one_in(3, SPOILT))
def test_a_contradiction_is_named(
    courier: Path, name: str, old: str, new: str, message: str
) -> None:
    _spoil(courier, name, old, new)
    found = [finding for finding in _found() if not finding.note]
    assert any(re.search(message, finding.message) for finding in found), found
    assert all('courier' in finding.message for finding in found)


def test_a_missing_domain_file_is_named(courier: Path) -> None:
    (courier / PDDL).unlink()
    (finding,) = _found()
    assert re.search(r'courier: domain\.pddl cannot be read: .*: write the domain', finding.message)


def test_no_folder_is_in_order_while_another_one_cannot_be_loaded(courier: Path) -> None:
    _spoil(courier, KIT, 'KIT = ', 'OTHER = ')
    (finding,) = inspect_domain('ferry')
    assert not finding.note
    assert finding.message.startswith('ferry: not looked at yet: domain folder courier: exports no')


def test_what_can_be_done_without_is_noted(courier: Path) -> None:
    _spoil(
        courier,
        KIT,
        "        'holding': ('the robot holds {0}', 'the robot does not hold {0}'),",
        '',
    )
    _spoil(courier, KIT, "        'place': ('place', 'places'),\n", '')
    summary = '    """A certain thing is delivered within a number of steps."""\n'
    _spoil(courier, FAMILIES, summary, '')
    found = _found()
    assert all(finding.note for finding in found)
    assert [finding.message.split(': ')[1] for finding in found] == [
        "family 'express'", "wording of 'holding'", 'wording',
    ]  # fmt: skip


def test_problems_that_differ_by_names_only_are_noted(courier: Path) -> None:
    """One thing at one of two places: there is little to draw."""
    for old, new in (
        ('paper=(3, 4), wide=(3, 5)', 'paper=(2, 2), wide=(2, 2)'),
        ('paper=(2, 3), wide=(2, 4)', 'paper=(1, 1), wide=(1, 1)'),
    ):
        _spoil(courier, KIT, old, new)
    _spoil(courier, FAMILIES, "at_least('things', 2)", "at_least('things', 1)")
    _spoil(courier, FAMILIES, 'within {len(robot.steps)}', 'within {len(robot.steps) - 1}')
    (note,) = [f.message for f in _found(10) if f.note]
    assert re.search(r"family 'none': only \d of 10 problems differ by more than names", note)


def test_two_folders_of_one_name_are_refused(
    courier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = courier.parent.parent / 'other'
    (other / 'ferry').mkdir(parents=True)
    (other / 'ferry' / '__init__.py').touch()
    monkeypatch.setenv(folders.SEARCH_PATH, f'{courier.parent}:{other}')
    with pytest.raises(SafegenError, match=r'domain folder ferry: lies in .* rename one of them'):
        folders.domain_folders()


def test_a_search_path_that_leads_nowhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(folders.SEARCH_PATH, '/no/such/place')
    with pytest.raises(SafegenError, match='_DOMAIN_PATH: /no/such/place is not a directory'):
        folders.domain_folders()


def test_a_fresh_folder_is_found_and_used_like_any_other(courier: Path) -> None:
    assert {path.name for path in courier.iterdir()} >= {
        'domain.pddl', '__init__.py', 'problems.py', 'families.py', 'test_domain.py',
    }  # fmt: skip
    assert not any('_template' in path.read_text() for path in courier.glob('*.*'))
    assert domain_folders()['courier'] == courier
    kit = kits()['courier']
    assert {family.operators[0] for family in kit.families.values()} == {
        'sometime-before', 'always', 'within',
    }  # fmt: skip
    generated = kit.problem(1)
    assert load_task(generated.text).problem == generated.problem
    assert '- the hand is empty\n' in to_english(generated.problem)


def test_two_domains_with_the_same_predicates_keep_their_own_words(
    own_directory: Path, courier: Path
) -> None:
    other = new_domain('porter', own_directory)
    words = other / '__init__.py'
    words.write_text(words.read_text().replace('the hand is empty', 'the porter carries nothing'))
    kits.cache_clear()
    told = [to_english(kits()[name].problem(1).problem) for name in ('courier', 'porter')]
    assert '- the hand is empty\n' in told[0]
    assert '- the porter carries nothing\n' in told[1]


@pytest.mark.parametrize(
    'name', ['', 'Courier', '9lives', 'my-domain', '_own', 'a b', '../x', 'for']
)
def test_a_name_that_is_no_identifier_is_refused(own_directory: Path, name: str) -> None:
    with pytest.raises(SafegenError, match='is not a name for a domain folder') as caught:
        new_domain(name, own_directory)
    assert repr(name) in str(caught.value)
    assert list(own_directory.iterdir()) == []


@pytest.mark.parametrize('name', ['ferry', 'grippers', 'kit', 'inspection'])
def test_a_name_that_is_taken_is_refused(own_directory: Path, name: str) -> None:
    with pytest.raises(SafegenError, match=f'the name {name!r} is taken: choose another one'):
        new_domain(name, own_directory)
    assert list(own_directory.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / 'courier').mkdir()
    with pytest.raises(SafegenError, match=r'courier exists already: take another name or dir'):
        new_domain('courier', tmp_path)
    assert list((tmp_path / 'courier').iterdir()) == []


def test_a_directory_is_made_where_it_is_missing(tmp_path: Path) -> None:
    assert new_domain('courier', tmp_path / 'a' / 'b') == tmp_path / 'a' / 'b' / 'courier'


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(SafegenError, match=r'file/x cannot be written: Not a directory: give anot'):
        new_domain('courier', tmp_path / 'file' / 'x')


def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = Path.write_text

    def full_disk(path: Path, text: str, encoding: str) -> int:
        written.append(path.name)
        if len(written) > 2:
            raise OSError(28, 'No space left on device')
        return write(path, text, encoding=encoding)

    monkeypatch.setattr(Path, 'write_text', full_disk)
    with pytest.raises(SafegenError, match=r'courier cannot be written: No space left on device'):
        new_domain('courier', tmp_path)
    assert len(written) == 3
    assert list(tmp_path.iterdir()) == []


def test_an_installed_package_asks_for_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / 'site-packages/safegen_ros/tasks/pddl3/domains'
    installed.mkdir(parents=True)
    monkeypatch.setattr(inspection, '_TEMPLATE', installed / '_template')
    with pytest.raises(SafegenError) as caught:
        new_domain('courier')
    assert re.search(
        'not a source checkout .* with --into, and list it in SAFEGEN_D', str(caught.value)
    )
    (tmp_path / 'site-packages' / 'setup.py').touch()
    with pytest.raises(SafegenError, match='cannot be written'):
        new_domain('courier')  # the template is missing there, but the directory is the right one
    assert list(installed.iterdir()) == []


FOUR = [kits()[name] for name in ('blocksworld', 'ferry', 'grippers', 'spanner')]

PREDICATES = {
    'blocksworld': {'clear': 1, 'on-table': 1, 'arm-empty': 0, 'holding': 1, 'on': 2},
    'ferry': {
        'not-eq': 2, 'car': 1, 'location': 1, 'at-ferry': 1, 'at': 2, 'empty-ferry': 0, 'on': 1,
    },
    'gripper-strips': {'at-robby': 2, 'at': 2, 'free': 2, 'carry': 3},
    'spanner': {'at': 2, 'carrying': 2, 'useable': 1, 'link': 2, 'tightened': 1, 'loose': 1},
}  # fmt: skip

ACTIONS = {
    'blocksworld': {'pickup': 1, 'putdown': 1, 'stack': 2, 'unstack': 2},
    'ferry': {'sail': 2, 'board': 2, 'debark': 2},
    'gripper-strips': {'move': 3, 'pick': 4, 'drop': 4},
    'spanner': {'walk': 3, 'pickup_spanner': 3, 'tighten_nut': 4},
}


def test_predicates_and_actions_are_those_of_the_field() -> None:
    ours: dict[str, Domain] = {kit.names[0]: builtin_domain(kit.names[0]) for kit in FOUR}
    assert {
        name: {p: len(kinds) for p, kinds in domain.predicates.items()}
        for name, domain in ours.items()
    } == PREDICATES
    assert {
        name: {a.name: len(a.parameters) for a in domain.actions.values()}
        for name, domain in ours.items()
    } == ACTIONS
    assert {name: bool(domain.types) for name, domain in ours.items()} == {
        'blocksworld': False, 'ferry': False, 'gripper-strips': True, 'spanner': True,
    }  # fmt: skip


def test_a_problem_may_call_the_domain_by_each_of_its_names() -> None:
    for kit in FOUR:
        generated = kit.problem(1)
        for name in kit.names:
            text = generated.text.replace(f'(:domain {kit.names[0]})', f'(:domain {name})')
            problem = load_task(text).problem
            assert problem.domain.name == name
            assert problem.constraints == generated.problem.constraints


FORMS = {
    ('blocksworld', 'table-order'): r'\(sometime-before \(on-table b\d\) \(on-table b\d\)\)',
    ('blocksworld', 'support-first'): r'\(sometime-before \(on b\d (b\d)\) \(on-table \1\)\)',
    ('ferry', 'stop-before-delivery'): r'\(sometime-before \(at c\d l\d\) \(at-ferry l\d\)\)',
    ('ferry', 'delivery-before-return'): r'\(sometime-before \(at-ferry l\d\) \(at c\d l\d\)\)',
    ('grippers', 'restricted-gripper'):
        r'\(always \(forall \(\?o - object\) \(not \(carry robot1 \?o [rl]gripper1\)\)\)\)',
    ('grippers', 'narrow-room'):
        r'\(always \(forall \(\?r \?s - robot\) \(imply \(and \(at-robby \?r (room\d)\) '
        r'\(at-robby \?s \1\)\) \(= \?r \?s\)\)\)\)',
    ('spanner', 'tightening-order'):
        r'\(always \(imply \(tightened nut\d\) \(tightened nut\d\)\)\)',
    ('spanner', 'foundation-first'):
        r'\(sometime-before \(tightened nut\d\) \(tightened nut\d\)\)',
}  # fmt: skip


@pytest.mark.parametrize(('name', 'family'), FORMS)
def test_constraints_of_the_paper_have_its_form(name: str, family: str) -> None:
    for seed in range(5):
        text = kits()[name].problem(seed, family=family).text
        lines = [line.strip() for line in text.split('(:constraints (and\n')[1].splitlines()[:-2]]
        once = '(forall (?m - man) (at-most-once (at ?m shed)))'
        assert (once in lines) == (family == 'tightening-order')
        assert all(line == once or re.fullmatch(FORMS[name, family], line) for line in lines), text


@pytest.mark.parametrize('kit', kits().values(), ids=list(kits()))
def test_longer_plans_are_scored_higher(kit: DomainKit) -> None:
    drawn = [kit.problem(seed, size, 'none') for size in kit.sizes(wide=True) for seed in range(8)]
    ranked = sorted(drawn, key=lambda generated: difficulty(kit, generated.problem))
    third = len(ranked) // 3
    easy, hard = ranked[:third], ranked[-third:]
    assert sum(len(p.direct) for p in hard) > 1.3 * sum(len(p.direct) for p in easy)


def test_goals_that_hold_already_are_no_work() -> None:
    kit = kits()['ferry']
    text = kit.problem(1, {'locations': 3, 'cars': 2}, 'none').text
    problem = load_task(text).problem
    done = problem.init | {(goal.predicate, *goal.terms) for goal in problem.goal_conjuncts()}
    start, end = '(:init', '\n  )'
    atoms = ' '.join(f'({" ".join(atom)})' for atom in sorted(done))
    head, _, tail = text.partition(start)
    solved = load_task(f'{head}(:init {atoms}{end}{tail.split(end, 1)[1]}').problem
    assert difficulty(kit, problem) > difficulty(kit, solved) == 3 * 0.25 + 2 * 0.25


def test_spearman() -> None:
    assert spearman([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx(0.8)
    assert spearman([1, 2, 3], [1, 8, 27]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 2, 2, 3], [1, 3, 2, 4]) == pytest.approx(0.9486832980505138)
    assert spearman([5, 5, 5], [1, 2, 3]) is None


@pytest.mark.nightly
@pytest.mark.parametrize('name', ['blocksworld', 'ferry', 'grippers', 'spanner'])
def test_the_weights_of_a_domain_are_good(name: str) -> None:
    told: list[None] = []
    found = correlation(kits()[name], 25, 0, solve, lambda: told.append(None))
    assert len(told) == found.problems == 25
    assert found.score is not None
    assert found.size is not None
    assert found.score > max(0.7, found.size)
    assert found == correlation(kits()[name], 25, 0, solve)

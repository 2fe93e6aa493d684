# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen verify`: its text, its JSON form and its exit status."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.executed import execute_plan
from typer.testing import CliRunner

from safegen_ros.api import Problem
from safegen_ros.cli import demo
from safegen_ros.cli.main import app
from safegen_ros.errors import ErrorCode
from safegen_ros.goals.request import GoalRequest
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.ros import stack_state
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify import second_opinion
from safegen_ros.verify.validator import Validator

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'tower_order.pddl'
GOOD = (
    '(unstack b5 b3) (putdown b5) (unstack b2 b1) (stack b2 b5) (unstack b3 b4) (putdown b3)\n'
    '(pickup b4) (stack b4 b3) (pickup b1) (stack b1 b4)\n'
)
UNSAFE = '(unstack b2 b1) (putdown b2)\n(unstack b5 b3) (putdown b5)'
PLANS = {
    'good': (GOOD, Category.SUCCESS),
    'unsafe': (UNSAFE, Category.SAFETY_VIOLATION),
    'blocked': ('(pickup b3)', Category.PRECONDITION_VIOLATION),
    'short': ('(unstack b5 b3)', Category.GOAL_NOT_SATISFIED),
    'prose': ('Sure! Here it is:\n(unstack b5 b3)', Category.FORMAT_ERROR),
    'unknown': ('(unstack b5 b3)\n(teleport b1)', Category.FORMAT_ERROR),
}
KEYS = {
    'plan', 'category', 'reason', 'failing_step', 'failing_action', 'failing_state',
    'step_blocked', 'unsatisfied', 'broken', 'goal_fraction', 'plan_length', 'paper_category',
    'extracted', 'second_opinion', 'notes', 'metric', 'errors', 'wishes',
}  # fmt: skip


@pytest.fixture
def plans(tmp_path: Path) -> dict[str, str]:
    """Files with the plans."""
    for name, (text, _) in PLANS.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in PLANS}


def _run(*arguments: str | Path, stdin: str | bytes = '') -> Any:
    return CliRunner().invoke(app, ['verify', *map(str, arguments)], input=stdin)


def _json(*arguments: str | Path, stdin: str | bytes = '') -> tuple[int, list[dict[str, Any]]]:
    done = _run(*arguments, '--json', stdin=stdin)
    values = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(set(each) == KEYS for each in values), values
    return done.exit_code, values


@pytest.mark.parametrize('name', PLANS)
def test_the_category_comes_first_and_decides_the_status(plans: dict[str, str], name: str) -> None:
    category = PLANS[name][1]
    done = _run(EXAMPLE, plans[name])
    assert done.stdout.startswith(f'{category.name}: ')
    assert done.exit_code == (0 if category is Category.SUCCESS else 1)
    status, (values,) = _json(EXAMPLE, plans[name])
    assert (values['category'], status) == (category.name, done.exit_code)
    assert values['plan'] == plans[name]


def test_the_failing_step_is_marked_and_the_constraint_is_told(plans: dict[str, str]) -> None:
    lines = _run(EXAMPLE, plans['unsafe']).stdout.splitlines()
    assert [line for line in lines if '>' in line] == ['  > 2  (putdown b2)']
    text = '\n'.join(lines)
    assert '(sometime-before (on-table b2) (on-table b3))' in text
    assert f'written at {EXAMPLE}:13:5' in text
    assert 'goal: 0% of its conditions hold at that point' in text
    end = _run(EXAMPLE, plans['short']).stdout
    assert '>    the plan ends' in end


def test_the_json_form_says_it_all(plans: dict[str, str]) -> None:
    status, (values,) = _json(EXAMPLE, plans['unsafe'])
    assert status == 1
    (broken,) = values.pop('broken')
    assert broken == {
        'constraint': '(sometime-before (on-table b2) (on-table b3))',
        'binding': {},
        'state': 2,
        'step': 1,
        'reason': '(on-table b2) holds, but (on-table b3) did not hold in any earlier state',
        'place': f'{EXAMPLE}:13:5',
    }
    assert broken['reason'] in values.pop('reason')
    assert values == {
        'plan': plans['unsafe'], 'category': 'SAFETY_VIOLATION', 'failing_step': 1,
        'failing_action': '(putdown b2)', 'failing_state': 2, 'step_blocked': False,
        'unsatisfied': [], 'goal_fraction': 0.0, 'plan_length': 4,
        'paper_category': 'SAFETY_VIOLATION', 'extracted': None, 'second_opinion': None,
        'notes': [], 'metric': None, 'errors': [], 'wishes': [],
    }  # fmt: skip
    _, (values,) = _json(EXAMPLE, plans['short'])
    assert (values['failing_step'], values['failing_state']) == (None, 1)
    assert values['unsatisfied'] == ['(on b1 b4)', '(on b4 b3)']


def test_the_variables_of_a_broken_constraint_are_told(tmp_path: Path) -> None:
    problem = tmp_path / 'problem.pddl'
    text = EXAMPLE.read_text().replace(
        '(sometime-before (on-table b2) (on-table b3))', '(forall (?x) (always (not (holding ?x))))'
    )
    problem.write_text(text)
    (tmp_path / 'plan').write_text('(unstack b2 b1) (putdown b2)')
    _, (values,) = _json(problem, tmp_path / 'plan')
    assert values['broken'][0]['binding'] == {'?x': 'b2'}
    assert 'for ?x = b2, written at ' in _run(problem, tmp_path / 'plan').stdout


def test_a_long_plan_is_shown_around_the_failing_step(tmp_path: Path) -> None:
    path = tmp_path / 'plan'
    path.write_text('(unstack b5 b3) (stack b5 b3)\n' * 40 + '(pickup b1)\n' * 20)
    lines = _run(EXAMPLE, path).stdout.splitlines()
    (marked,) = [line for line in lines if line.startswith('  > ')]
    assert marked == '  > 81  (pickup b1)'
    assert len(lines) < 20
    assert any('14 more steps' in line for line in lines)


def test_the_place_in_a_text_that_is_no_plan_is_shown(plans: dict[str, str]) -> None:
    done = _run(EXAMPLE, plans['prose'])
    assert '    1 | Sure! Here it is:\n        ^' in done.stdout
    _, (values,) = _json(EXAMPLE, plans['prose'])
    (error,) = values['errors']
    assert (error['line'], error['column']) == (1, 1)
    assert "'Sure! Here" in error['what']


@pytest.mark.parametrize('verb', ['verify', 'run'])
def test_a_plan_in_place_of_the_problem_is_called_one(plans: dict[str, str], verb: str) -> None:
    done = CliRunner().invoke(app, [verb, plans['good'], str(EXAMPLE)])
    told = done.stderr or str(done.exception)
    assert f'{plans["good"]} is a plan: name the problem first, then the plan' in told


def test_run_takes_domain_and_problem_in_either_order_and_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plans: dict[str, str]
) -> None:
    asked: list[GoalRequest] = []

    def run_goal(request: GoalRequest, *arguments: Any, **options: Any) -> int:
        asked.append(request)
        return 0

    monkeypatch.setattr(demo, 'run_goal', run_goal)
    monkeypatch.setattr(stack_state, 'require_stack', lambda namespace: None)
    domain = tmp_path / 'd.pddl'
    domain.write_text(builtin_domain_text('blocksworld'))
    for files in ((domain, EXAMPLE), (EXAMPLE, domain)):
        done = CliRunner().invoke(app, ['run', *map(str, files)])
        assert done.exit_code == 0, done.output
        assert (asked[-1].domain_text, asked[-1].plan) == (domain.read_text(), None)
        assert asked[-1].path == EXAMPLE
        done = CliRunner().invoke(app, ['run', *map(str, files), plans['good']])
        assert (done.exit_code, asked[-1].domain_text) == (0, domain.read_text())
        assert str(asked[-1].plan) == str(parse_plan(Path(plans['good']).read_text()))


def test_several_plans_are_judged_and_the_worst_decides(plans: dict[str, str]) -> None:
    both = [plans['good'], plans['unsafe']]
    done = _run(EXAMPLE, *both)
    heads = [line for line in done.stdout.splitlines() if not line.startswith(' ')]
    assert [head.split(': ')[:2] for head in heads] == [
        [both[0], 'SUCCESS'],
        [both[1], 'SAFETY_VIOLATION'],
    ]
    assert done.exit_code == 1
    status, values = _json(EXAMPLE, 'nowhere', *both)
    assert status == 2
    assert [each['category'] for each in values] == ['UNKNOWN', 'SUCCESS', 'SAFETY_VIOLATION']
    assert [bool(each['errors']) for each in values] == [True, False, False]
    assert _json(EXAMPLE, plans['good'], plans['good'])[0] == 0


def test_a_plan_comes_from_standard_input() -> None:
    assert _run(EXAMPLE, '-', stdin=GOOD).exit_code == 0
    assert _run(EXAMPLE, stdin=GOOD).exit_code == 0
    assert _run('-', EXAMPLE, '-', stdin=GOOD).exit_code == 0  # as `validate` was called
    assert _json(EXAMPLE, '-', stdin=UNSAFE)[1][0]['plan'] == '-'
    done = _run(EXAMPLE, '-', stdin=b'\xff')
    assert (done.exit_code, done.stdout) == (2, '')
    assert 'not UTF-8' in done.stderr


def test_standard_input_is_one_plan(plans: dict[str, str]) -> None:
    done = _run(EXAMPLE, '-', plans['good'], '-', stdin=GOOD)
    assert (done.exit_code, done.stdout) == (2, '')
    assert '2 plans are to come from standard input' in done.stderr
    assert 'write the others to files' in done.stderr
    status, values = _json(EXAMPLE, '-', '-', stdin=GOOD)
    assert (status, [each['category'] for each in values]) == (2, ['UNKNOWN'] * 2)
    status, values = _json(EXAMPLE, '-', plans['good'], stdin=GOOD)
    assert (status, [each['category'] for each in values]) == (0, ['SUCCESS'] * 2)


def test_every_error_of_a_file_is_told_with_its_place(
    tmp_path: Path, plans: dict[str, str]
) -> None:
    problem = tmp_path / 'problem.pddl'
    text = EXAMPLE.read_text().replace('(on b4 b3)', '(on b4 b9)')
    problem.write_text(text.replace('(sometime-before', '(somtime-before'))
    done = _run(problem, plans['good'])
    assert (done.exit_code, done.stdout) == (2, '')
    assert f"{problem}:11:33: object 'b9'" in done.stderr
    assert "'somtime-before'" in done.stderr
    assert done.stderr.count('^') == 2
    status, (values,) = _json(problem, plans['good'])
    assert (status, values['category']) == (2, 'UNKNOWN')
    places = [(error['source'], error['line']) for error in values['errors']]
    assert places == [(str(problem), 11), (str(problem), 13)]
    problem.write_text('')
    done = _run(problem, plans['good'])
    assert (done.exit_code, done.stdout, 'empty' in done.stderr) == (2, '', True)


def test_lenient_takes_the_steps_out_of_other_text_and_says_so(
    plans: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / 'answer'
    path.write_text(f'Here is the plan:\n```\n{GOOD}```\nIt obeys the constraint.\n')
    strict = _run(EXAMPLE, path)
    assert (strict.exit_code, '--lenient' in strict.stdout) == (1, True)
    done = _run(EXAMPLE, path, '--lenient')
    assert done.exit_code == 0
    head, note = done.stdout.splitlines()
    assert head.startswith('SUCCESS: ')
    assert note.startswith('  extracted: took 10 steps from lines 3 to 4, skipped ')
    status, (values, plain, nothing) = _json(
        '-', EXAMPLE, path, plans['good'], '-', '--lenient', stdin='There is no plan.'
    )
    assert status == 1
    taken = values['extracted']
    assert (taken['steps'], taken['first_line'], taken['last_line']) == (10, 3, 4)
    assert taken['before']
    assert taken['after']
    assert (plain['category'], plain['extracted']) == ('SUCCESS', None)
    assert (nothing['category'], nothing['extracted']) == ('FORMAT_ERROR', None)
    assert nothing['errors']


def test_no_other_domain_takes_the_place_of_an_empty_or_misnamed_one(
    tmp_path: Path, plans: dict[str, str]
) -> None:
    domain = tmp_path / 'domain.pddl'
    other = builtin_domain_text('blocksworld').replace('(domain ', '(domain other-')
    for text, what in ((' \n', 'the domain is empty'), (other, "'blocksworld', not 'other-")):
        domain.write_text(text)
        done = _run(domain, EXAMPLE, plans['good'])
        assert (done.exit_code, what in done.stderr) == (2, True)
    assert _run(domain, EXAMPLE, plans['good'], '--any-name').exit_code == 0


@pytest.mark.parametrize('arguments', [['--json'], []])
def test_a_fault_of_ours_is_no_verdict(
    plans: dict[str, str], monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str]
) -> None:
    def fail(self: Validator, plan: object) -> Verdict:
        raise RecursionError('too deep')

    monkeypatch.setattr(Validator, 'verify', fail)
    done = _run(EXAMPLE, plans['good'], *arguments)
    said = done.stdout if arguments else done.stderr
    assert done.exit_code == 3
    assert 'internal error: RecursionError: too deep' in said
    assert 'Traceback' not in done.stdout + done.stderr
    assert 'SUCCESS' not in said
    loud = _run(EXAMPLE, plans['good'], '--verbose', *arguments)
    assert 'Traceback' in loud.stderr
    assert loud.stdout == done.stdout


def test_a_second_opinion_confirms_or_refuses(
    plans: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path / 'runs'))
    names = [plans['good'], plans['unsafe'], plans['prose']]
    status, values = _json(EXAMPLE, *names, '--second-opinion')
    assert [each['second_opinion'] for each in values] == [True, True, None]
    assert status == 1
    monkeypatch.setattr(
        second_opinion, 'agree', lambda ours, theirs, **how: False
    )  # VAL is asked, and what it says is not believed
    status, (refused,) = _json(EXAMPLE, plans['good'], '--second-opinion')
    assert (status, refused['category'], refused['second_opinion']) == (1, 'UNKNOWN', False)
    assert 'do not agree' in refused['reason']


def test_the_documentation_explains_every_key() -> None:
    text = (ROOT / 'docs' / 'validation.md').read_text(encoding='utf-8')
    table = text[text.index('| Key | Value |') : text.index('### What is proved')]
    firsts = [line.split('|')[1] for line in table.splitlines() if line.startswith('| `')]
    assert {key for first in firsts for key in re.findall(r'`(\w+)`', first)} == KEYS


def test_the_readme_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    command = r"^\$ echo '(.*)' \| safegen verify examples/tower_order.pddl -\n"
    [(plan, shown)] = re.findall(rf'{command}((?:.+\n)+?)```', readme, re.MULTILINE)
    done = _run('examples/tower_order.pddl', '-', stdin=plan)
    assert done.stdout.split() == shown.split()  # which is folded, as on a terminal


FILES = ('examples/patrol/domain.pddl', 'examples/patrol/problem.pddl')
PAGE = (ROOT / 'docs' / 'from_plansys2.md').read_text(encoding='utf-8')
TEXT = '\n'.join(re.findall(r'^    ([\d.]+: .*)$', PAGE, re.MULTILINE))


def test_the_plan_of_the_page_is_what_solve_prints(safegen: CommandLine) -> None:
    code, out, _ = safegen('solve', '--domain', *FILES)
    assert code == 0
    assert parse_plan(out, timed=True) == parse_plan(TEXT, timed=True)


def test_the_plan_of_the_page_is_proved(safegen: CommandLine, tmp_path: Path) -> None:
    plan = tmp_path / 'plan.txt'
    plan.write_text(TEXT, encoding='utf-8')
    code, out, _ = safegen('verify', *FILES, plan)
    assert (code, 'all 5 steps can be done in 70.004 s' in out) == (0, True)
    plan.write_text(TEXT.replace('30.001', '29.000'), encoding='utf-8')
    code, out, _ = safegen('verify', *FILES, plan)
    assert (code, 'needs (free r2d2)' in out) == (1, True)


def test_the_plan_of_the_page_is_executed() -> None:
    problem = Problem.load(ROOT / FILES[1], ROOT / FILES[0])
    plan = Plan(parse_plan(TEXT, timed=True).steps)
    cell = SymbolicCell(problem)
    outcome = execute_plan(problem, plan, cell, time_budget_s=60.0)
    assert (outcome.error_code, outcome.steps_done) == (ErrorCode.NONE, 5), outcome.message
    assert cell.time == 70.0
    assert ('=', '(battery r2d2)', '60') in cell.observe()

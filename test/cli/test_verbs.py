# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The small verbs: output, exit status, errors in one line, and completion by a shell."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Optional

import pytest
import typer
from support.command_line import CommandLine
from support.kept_runs import kept_folder
from typer.testing import CliRunner

from safegen_ros import __version__, paths
from safegen_ros.bringup.profiles import PROFILES
from safegen_ros.cli import typer_compat
from safegen_ros.cli.completion import complete_problem, complete_profile, complete_profile_argument
from safegen_ros.cli.failures import missing_part
from safegen_ros.cli.main import RENAMED, VERBS, load_verb

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / 'examples' / 'tower_order.pddl'
SAFEGEN = Path(sys.executable).with_name('safegen')
IN_BASH = """
eval "$(safegen --show-completion)"
for line in "$@"; do
  read -ra COMP_WORDS <<< "$line"
  COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
  _safegen_completion safegen
  echo "${COMPREPLY[@]}"
done
"""


@pytest.mark.parametrize(
    ('arguments', 'status', 'message'),
    [
        (['solve', 'nowhere.pddl'], 2, 'nowhere.pddl: the problem cannot be read'),
        (['solve', EXAMPLE, '--domain', EXAMPLE], 2, 'expected (domain NAME)'),
        (['verify', EXAMPLE, 'nowhere'], 2, 'nowhere: the plan cannot be read'),
        (['run', EXAMPLE, 'plan.txt', '--approve'], 2, '--approve has no effect'),
        (['run', EXAMPLE, '--plan-only', '--video'], 2, '--video has no effect'),
        (['bench', 'boxnet', 'solve', 'no.json'], 2, 'no.json: the task cannot be read: No such'),
        (['eval', 'model', '--data', 'nope'], 2, 'check the path'),
        (['eval', 'table3', '--data', 'docs'], 1, 'docs/manifest.json: cannot be read'),
        (['run', 'a on b', '--start', '/dev/null'], 2, '/dev/null: is not a PDDL problem'),
        (['step', EXAMPLE, '--model', 'docs'], 1, 'docs: config.json is missing'),
        (['up', 'moon'], 2, "profile 'moon' does not exist"),
        (['up', 'sim', 'real_time_factor:=fast'], 2, "'fast' is not a number"),
        (['up', 'sim', 'site_file:=README.md'], 2, 'argument site_file: '),
        (['up', 'sim', 'scene_file:=README.md'], 2, 'is not YAML: '),
        (['demo', '--model', 'docs'], 1, 'docs: config.json is missing'),
        (['up', 'sim', 'model'], 2, "'model' is not an argument"),
        (['train', 'sft', '--config', 'none.yaml', '--out', 'x'], 2, 'none.yaml does not exist'),
        (['bench', 'planner', '--route', 'teleport'], 2, "'teleport' is not one of"),
        (['data', 'shard', 'none', '--index', '2', '--of', '2'], 2, 'there is no shard 2 of 2'),
        (['data', 'build', 'none', '--jobs', '0'], 2, '--jobs'),
        (['data', 'build', 'none', '--seed', '-1'], 2, '--seed'),
        (['data', 'build', 'none', '--train', '0'], 2, '--train'),
        (['eval', 'model', '--mode', 'guess'], 2, "'guess' is not one of"),
        (['eval', 'model', '--format', 'latin'], 2, "'latin' is not one of"),
        (['bench', 'planner', '--jobs', '0'], 2, '--jobs'),
        (['bench', 'validator', '--plans', '1'], 2, '--plans'),
        (['bench', 'planner', '--figure3', '--model', 'models/safegen-mini'], 2, 'give one'),
        (['bench', 'household', 'run', 'sweep'], 2, 'sweep'),
        (['bench', 'household', 'run', 'damage-statue', '--agent', 'butler'], 2, 'butler'),
        (['bench', 'household', 'run', 'damage-statue', '--setting', 'half'], 2, 'half'),
        (['bench', 'household', 'run', 'damage-statue', '--shield', 'paper'], 2, 'paper'),
        (['bench', 'household', 'eval', '--table', '4'], 2, "'4' is not one of 2 3 all"),
        (['bench', 'household', 'eval', '--agents', ''], 2, 'agents'),
        (['bench', 'household', 'eval', '--agents', 'butler'], 2, 'butler'),
        (['bench', 'household', 'tasks', '--published', 'docs'], 2, 'docs'),
        (['bench', 'planetarium', 'stats', 'none'], 2, 'none'),
        (['bench', 'planetarium', 'check', 'none'], 2, 'none'),
        (['bench', 'planetarium', 'score', 'none.jsonl'], 2, 'none.jsonl'),
        (['bench', 'planetarium', 'build', 'x', '--recipe', 'none.json'], 2, 'none.json'),
        (['domain', 'check', 'boat'], 2, "there is no domain folder 'boat': use one of"),
        (['domain', 'list', 'boat'], 2, "there is no domain 'boat': use one of blocksworld"),
        (['domain', 'new', 'ferry'], 2, "the name 'ferry' is taken: choose another one"),
        (['domain', 'check', '--problems', '0'], 2, '--problems'),
        (['domain', 'list', '--difficulty', '--problems', '1'], 2, '--problems'),
    ],
)
def test_errors_name_the_cure_in_a_line(
    safegen: CommandLine, arguments: list[str | Path], status: int, message: str
) -> None:
    ended, out, error = safegen(*arguments)
    assert ended == status, out + error
    assert message in out + error
    assert 'Traceback' not in out + error


def test_a_missing_part_is_named_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    error = ModuleNotFoundError(name='torch.nn')
    assert missing_part(error) == (
        'torch is not installed: run make setup && source .venv/bin/activate'
    )
    monkeypatch.setattr(paths, '_checkout', lambda: tmp_path)
    assert missing_part(error) == "torch is not installed: run pip install 'safegen_ros[llm]'"
    assert 'source a ROS 2' in missing_part(ModuleNotFoundError(name='std_msgs.msg'))
    assert not missing_part(ModuleNotFoundError(name='safegen_ros.gone'))


def test_a_misspelt_profile_is_said_without_ros(
    safegen: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'safegen_ros.bringup.supervisor', None)
    code, _, error = safegen('up', 'simm')
    assert (code, "profile 'simm' does not exist" in error) == (2, True)


def test_a_verb_ends_silently_where_its_reader_has_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as closed:
        done = subprocess.run(
            [sys.executable, '-m', 'safegen_ros.cli.main', 'solve', str(EXAMPLE)], stdout=closed,
            stderr=subprocess.PIPE, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, '')


def test_ctrl_c_ends_a_verb_in_a_line() -> None:
    code = """
import sys
from safegen_ros.cli import start
class Begun:
    def find_spec(self, name, *_):
        if name == 'safegen_ros.cli.main':
            print('begun', flush=True)
sys.meta_path.insert(0, Begun())
start()
"""
    command, pipe = [sys.executable, '-c', code, 'verify', EXAMPLE], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == 'begun\n'
        process.send_signal(signal.SIGINT)  # while it imports, or waits for a plan
        assert process.communicate(timeout=60)[1] == 'interrupted\n'
    assert process.returncode == 130


def test_the_version_is_printed(safegen: CommandLine) -> None:
    assert safegen('--version') == (0, f'{__version__}\n', '')


@pytest.mark.parametrize('name', VERBS)
def test_the_help_of_a_verb_begins_as_the_list_of_verbs_says(name: str) -> None:
    assert (load_verb(name).help or '').split('\n\n')[0] == VERBS[name].help


HEAVY = {'numpy', 'pydantic', 'rclpy', 'yaml'}


def _imported(*words: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules that it has imported."""
    look = (
        'import atexit, sys; from safegen_ros.cli.main import main; sys.argv[0] = "safegen"; '
        'atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()'
    )
    command = [sys.executable, '-c', look, *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout, set(done.stderr.split())


def test_the_list_of_verbs_imports_none_of_them() -> None:
    out, modules = _imported('--help')
    ours = {f'safegen_ros.{name}' for name in ('errors', 'untrusted', 'cli')}
    ours |= {f'safegen_ros.cli.{name}' for name in ('main', 'failures', 'typer_compat')}
    assert {name for name in modules if name.startswith('safegen_ros.')} == ours
    assert not modules & HEAVY
    assert all(f' {name} ' in out for name in VERBS)


def test_a_stop_imports_no_ros_and_a_status_little_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ('RELEASE', 'RUNTIME', 'STATE'):
        monkeypatch.setenv(f'SAFEGEN_{name}_DIR', str(tmp_path))
    monkeypatch.setenv('ROS_DOMAIN_ID', '229')
    _, modules = _imported('stop')
    assert 'safegen_ros.nodes.stop_socket' in modules
    assert not modules & {*HEAVY - {'yaml'}, 'rich'}
    pytest.importorskip('rclpy')
    _, modules = _imported('status')  # what it imports is half of its time
    assert 'safegen_ros.cli.stack_status' in modules
    assert not modules & {'cryptography', 'pydantic', 'safegen_ros.pddl.model', 'rich'}


@pytest.mark.parametrize(
    ('typed', 'meant'),
    [('slove', "'safegen solve'"), ('histroy', "'safegen runs list'"), ('arms', "'safegen arm'")],
)
def test_a_mistyped_command_is_answered_with_the_nearest_one(
    safegen: CommandLine, typed: str, meant: str
) -> None:
    status, _, error = safegen(typed)
    assert (status, meant in error) == (2, True)


@pytest.mark.parametrize(('old', 'new'), RENAMED.items())
def test_an_old_command_is_the_new_one_and_says_so(
    safegen: CommandLine, old: str, new: str
) -> None:
    group = old in ('bench boxnet', 'bench planetarium')  # means the old command before an option
    words = ('--seed', '0', '--help') if group else ('--help',)
    status, out, error = safegen(*old.split(), *words)
    assert (status, error) == (0, f"'safegen {old}' is now 'safegen {new}'\n")
    assert f'safegen {new.partition(" -")[0]} ' in ' '.join(out.split())


def test_a_union_with_none_is_the_optional_that_old_versions_read() -> None:
    assert typer_compat.optional(Path | None) == Optional[Path]  # noqa: UP045
    assert typer_compat.optional(list[str] | None) == Optional[list[str]]  # noqa: UP045
    assert typer_compat.optional(Path) is Path


def test_an_old_version_is_given_options_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, '__version__', '0.9.0')
    monkeypatch.setattr(typer.main, 'get_params_from_function', typer.main.get_params_from_function)
    typer_compat.read_unions()
    app = typer.Typer()

    @app.command()
    def show(
        file: Annotated[Path | None, typer.Argument()] = None,
        as_json: Annotated[bool, typer.Option('--json')] = False,
    ) -> None:
        print(file, as_json)

    assert CliRunner().invoke(app, ['x.pddl', '--json']).output == 'x.pddl True\n'


def test_it_is_needed_as_long_as_such_a_version_may_be_installed() -> None:
    names = [
        node.value
        for node in ast.walk(ast.parse((ROOT / 'setup.py').read_text()))
        if isinstance(node, ast.Constant) and str(node.value).startswith('typer>=')
    ]
    (least,) = (tuple(map(int, str(each).removeprefix('typer>=').split('.'))) for each in names)
    assert least < typer_compat.READS_UNIONS


@pytest.mark.nightly
def test_bash_completes_with_the_script_that_is_printed(tmp_path: Path) -> None:
    bash = shutil.which('bash')
    assert bash is not None
    run = kept_folder(tmp_path)
    environment = os.environ | {
        'PATH': f'{SAFEGEN.parent}:{os.environ["PATH"]}',
        'SAFEGEN_RUNS_DIR': str(tmp_path),
    }
    lines = ['safegen rese', 'safegen run blocksworld-023', f'safegen runs show {run.name[:6]}']
    done = subprocess.run(
        [bash, '-c', IN_BASH, 'bash', *lines],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ['reset', 'blocksworld-023', run.name], done.stderr


def test_problems_are_ids_of_test_problems_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ('ferry-mine.pddl', 'other.pddl', '.hidden'):
        (tmp_path / name).touch()
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'folder' / 'deep.json').touch()
    offered = complete_problem('ferry-')
    assert offered[-1] == 'ferry-mine.pddl'
    assert all(name.startswith('ferry-') for name in offered)
    assert len(offered) > 1
    assert complete_problem('fol') == ['folder/']
    assert complete_problem('folder/') == ['folder/deep.json']
    assert complete_problem(f'{tmp_path}/o') == [f'{tmp_path}/other.pddl']
    assert complete_problem('nowhere/') == []
    assert '.hidden' not in complete_problem('')
    assert complete_problem('.h') == ['.hidden']


def test_profiles_and_their_arguments_come_from_the_table() -> None:
    assert [name for name, _ in complete_profile('')] == list(PROFILES)
    for name, profile in PROFILES.items():
        context = SimpleNamespace(params={'profile': name})
        offered = [text for text, _ in complete_profile_argument(context, '')]
        assert list(dict.fromkeys(text.partition(':=')[0] for text in offered)) == [
            spec.name for spec in profile.args
        ]
    context = SimpleNamespace(params={'profile': None})
    assert [text for text, _ in complete_profile_argument(context, 'auto')] == [
        'autostart:=true', 'autostart:=false'
    ]  # fmt: skip
    assert complete_profile_argument(SimpleNamespace(params={'profile': 'none'}), '') == []

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Pages are short, easy and current; links and commands lead somewhere; the tutorials run."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer import BadParameter

from safegen_ros.bringup.profiles import PROFILES
from safegen_ros.cli.main import EXAMPLES, VERBS, load_verb

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / 'scripts'))

import docs_reference  # noqa: E402  # it is not a package
import prose  # noqa: E402

GENERATED = docs_reference.pages()
LONGEST = 180  # lines: three screens
READ = [page for page in prose.pages() if ROOT / 'docs' in page.parents and page not in GENERATED]
WRITTEN = [ROOT / 'README.md', *READ]
TUTORIALS = ROOT / 'docs' / 'tutorials'
NOTEBOOKS = sorted((ROOT / 'examples' / 'notebooks').glob('*.ipynb'))
SHORT = ('first-plan', 'own-domain')  # seconds; the others take minutes
OURS = ('config', 'data', 'examples', 'models')  # folders that commands name


@pytest.mark.parametrize('page', GENERATED, ids=lambda page: page.stem)
def test_a_generated_page_is_current(page: Path) -> None:
    assert page.read_text(encoding='utf-8') == GENERATED[page], 'run scripts/docs_reference.py'


@pytest.mark.parametrize('page', READ, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_fits_on_three_screens(page: Path) -> None:
    assert page.read_text(encoding='utf-8').count('\n') <= LONGEST


@pytest.mark.parametrize('page', prose.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not [*prose.dead_links(page)]


def test_no_page_has_a_hard_sentence() -> None:
    hard = [each for page in prose.pages() for each in prose.findings(prose.read(page))]
    assert not hard


def test_no_message_docstring_or_comment_has_a_hard_phrase() -> None:
    assert not [*prose.hard_phrases()]


def test_a_hard_sentence_is_found() -> None:
    long = ' '.join(['word'] * (prose.LONGEST + 1))
    text = f'It works. {long.capitalize()}.\n\n    {long}\n\n| {long} |\n\nWho is asked is mended.'
    assert 'seconds to wait for a pending plan [default: 2.0]' in prose.read(prose.HELP)
    assert [found.split(':')[0] for found in prose.findings(text)] == [
        '31 words', "'mended', say fix", "'Who is asked', say planner",
    ]  # fmt: skip


@pytest.mark.parametrize('notebook', NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding='utf-8'))['cells']
    code = [cell for cell in cells if cell['cell_type'] == 'code']
    assert [cell for cell in code if cell['outputs'] or cell['execution_count']] == []


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize('what', ['docs', *(f'notebooks NOTEBOOKS={n.name}' for n in NOTEBOOKS)])
def test_the_site_and_the_notebooks_are_made(what: str) -> None:
    command = ['make', *what.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr * (what == 'docs')) == (0, ''), done.stderr


def shown(page: Path) -> Iterator[list[str]]:
    """The words of each command of a page that begins with `safegen`, `make` or `ros2 launch`."""
    text = page.read_text(encoding='utf-8').replace('\\\n', ' ')
    lines = re.findall(
        r'^(?: {4,}|```console\n)?(?:\$ |.*\| )?((?:\.venv/bin/)?safegen .*)', text, re.M
    )
    lines += re.findall(r'^(?: {4,}|\$ )(make .*|ros2 launch .*)', text, re.M)
    lines += [' '.join(code.split()) for code in re.findall(r'(?<!`)`(safegen [^`]+)`', text)]
    for line in lines:
        command = re.split(r'\s#|\s\|| > | >> | < |&&|;|\)$| &$|\|\|', line)[0]
        yield shlex.split(command.replace('.venv/bin/', ''))


def fault(words: list[str], whole: bool = False) -> str:
    """What is wrong with a command; one that is no `whole` may lack arguments, as in prose."""
    for word in words:
        path = word.partition(':=')[2] or word
        ours = path.split('/')[0] in OURS and '#' not in path
        if ours and not path.startswith('models/base') and not (ROOT / path).exists():
            return f'no file {path}'
    if words[0] == 'make':
        made = set(re.findall(r'^(\w[\w-]*):', (ROOT / 'Makefile').read_text(), re.M))
        return '' if words[1] in made else f'no target {words[1]}'
    if words[0] == 'ros2':
        return '' if (ROOT / 'launch' / words[3]).is_file() else f'no launch file {words[3]}'
    words = words[1:]
    if words[0] not in VERBS:
        return '' if words[0].startswith(('-', 'VERB')) else f'no verb {words[0]}'
    command: Any = load_verb(words[0])
    while (below := getattr(command, 'commands', {})) and len(words) > 1 and words[1] in below:
        words = words[1:]
        command = below[words[0]]
    arguments = {spec.name for profile in PROFILES.values() for spec in profile.args}
    for word in words[1:]:
        name, mark, _ = word.partition(':=')
        if mark and name not in (*arguments, 'name'):
            return f'no argument {name}'
    if below or '--help' in words:
        return ''
    context = command.context_class(command)
    try:
        given, left, _ = command.make_parser(context).parse_args(words[1:])
    except BadParameter.__bases__[0] as error:  # of the click that typer has
        return error.format_message()
    needed = [p.name for p in command.params if p.required and not given.get(p.name)]
    return f'lacks {needed}, has {left}' if whole and (needed or left) else ''


@pytest.mark.parametrize('page', WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_exist(page: Path) -> None:
    assert [(words, found) for words in shown(page) if (found := fault(words))] == []


def test_the_examples_of_the_help_exist() -> None:
    lines = EXAMPLES.read_text(encoding='utf-8').splitlines()
    assert [(line, found) for line in lines if (found := fault(shlex.split(line), True))] == []
    counts = Counter(line.split()[1] for line in lines)
    assert {name for name in VERBS if counts[name] < 3} == {'down'}  # which has one option


def test_a_command_that_does_not_exist_is_found() -> None:
    wrong = (
        'safegen prove', 'safegen solve --quick', 'safegen up sim cells:=twin', 'make cake',
        'safegen solve examples/none.pddl', 'ros2 launch safegen_ros none.launch.py',
    )  # fmt: skip
    assert all(fault(command.split()) for command in wrong)


class Command(NamedTuple):
    """A command of a page, with the lines that it should print; `...` stands for any text."""

    text: str
    prints: list[str]


def commands(text: str) -> list[Command]:
    """The commands of the console blocks of a page, in order."""
    found: list[Command] = []
    for block in re.findall(r'^```console\n(.*?)^```', text, re.M | re.S):
        for line in block.splitlines():
            if line.startswith('$ '):
                found.append(Command(line[2:], []))
            elif line.startswith('> '):
                found[-1] = Command(f'{found[-1].text}\n{line[2:]}', [])
            else:
                found[-1].prints.append(line)
    return found


class Terminal:
    """One shell, in a folder that has what a checkout has."""

    def __init__(self, folder: Path) -> None:
        for name in OURS:
            (folder / name).symlink_to(ROOT / name)
        environment = os.environ | {
            'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
            'SAFEGEN_RUNS_DIR': str(folder / 'runs'),
            'XDG_STATE_HOME': str(folder / 'state'),
            'COLUMNS': '200',
        }
        self._outputs = folder / 'outputs'
        self._outputs.mkdir()
        self._shell = subprocess.Popen(
            ['bash'], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def follow(self, number: int, command: Command, limit_s: float) -> None:
        """Types a command and waits for its end; in the background, for what it should print."""
        output = self._outputs / f'{number}'
        status = self._outputs / f'{number}.status'
        text = command.text.removesuffix(' &')
        behind = text != command.text
        ended = ' &' if behind else f'; echo $? > {status}'
        assert self._shell.stdin is not None
        self._shell.stdin.write(f'{{ {text}\n}} > {output} 2>&1{ended}\n')
        self._shell.stdin.flush()
        deadline = time.monotonic() + limit_s
        while behind or not (status.exists() and status.read_text()):
            if behind and output.exists() and not self._missing(command, output):
                return
            assert time.monotonic() < deadline, f'{command.text}: {output.read_text()}'
            time.sleep(0.1)
        assert status.read_text() == '0\n', f'{command.text}: {output.read_text()}'
        assert self._missing(command, output) == [], f'{command.text}: {output.read_text()}'

    @staticmethod
    def _missing(command: Command, output: Path) -> list[str]:
        said = output.read_text()
        patterns = [(line, re.escape(line).replace(r'\.\.\.', '.*')) for line in command.prints]
        return [line for line, pattern in patterns if not re.search(pattern, said)]

    def close(self) -> None:
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    'page',
    [
        pytest.param(page, marks=pytest.mark.slow if page.stem in SHORT else pytest.mark.nightly)
        for page in sorted(TUTORIALS.glob('*.md'))
    ],
    ids=lambda page: page.stem,
)
def test_a_tutorial_runs_as_it_is_written(page: Path, ros_domain: int, terminal: Terminal) -> None:
    for number, command in enumerate(commands(page.read_text(encoding='utf-8'))):
        terminal.follow(number, command, limit_s=600)
    assert number

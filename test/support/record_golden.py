# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Record runs of the kinds in test/golden/runs, which `safegen runs replay` must reproduce.

Run this only to add kinds of runs: the kept ones show that journals of an earlier release are read.
Usage: `.venv/bin/python test/support/record_golden.py FOLDER`, with an unused ROS_DOMAIN_ID.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from safegen_ros.bringup.supervisor import Supervisor  # noqa: E402
from safegen_ros.bringup.table import node_specs  # noqa: E402
from safegen_ros.record.journal import load_journal  # noqa: E402
from support.blocks_small import LASTING_TEXT, THREE_TEXT  # noqa: E402
from support.disturbed_executor import VARIABLE  # noqa: E402
from support.model_server import MODEL, ModelServer, Script  # noqa: E402

TOWER = ROOT / 'examples' / 'tower_order.pddl'
MAP = ROOT / 'examples' / 'boxnet' / 'hand_over.json'
HIDDEN = """
(define (problem hidden) (:domain blocksworld) (:objects a b c d)
  (:init (arm-empty) (on-table d) (on a d) (clear a) (on-table c) (on b c) (clear b)) (:goal (and)))
"""
BELIEVED = """
(define (problem believed) (:domain blocksworld) (:objects a b c d)
  (:init (arm-empty) (on-table c) (on a c) (clear a) (on-table d) (on b d) (clear b))
  (:goal (and (on a b) (on c d))) (:constraints (sometime-before (on c d) (holding a))))
"""
"""What a task says of blocks that stand as in `HIDDEN`."""
REQUEST = 'Build a tower with c on top of a and a on top of b.'
GIVEN = '(always (not (on c b)))'
GOOD = '(pickup a)\n(stack a b)\n(pickup c)\n(stack c a)'
UNSAFE = '(pickup c)\n(stack c b)\n' + GOOD
NO_PLAN = THREE_TEXT.replace('(not (on c b))', '(not (on a b))')
CANDLE = ('turn on Candle (1)', 'go to Shelf (1)', 'turn off Candle (1)', 'go to Shelf (1)')
SEARCH = ('--strategy', 'search')
BY_MODEL = ('--strategy', 'model')


class Recorder:
    """Runs goals on a stack, and keeps the journals of their runs by name."""

    def __init__(self, folder: Path, script: Script, environment: dict[str, str]) -> None:
        self._folder, self._script = folder, script
        self._environment = {**os.environ, **environment}
        self._runs = Path(environment['SAFEGEN_RUNS_DIR'])

    def start(self, verb: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, '-m', 'safegen_ros.cli.main', verb, *map(str, arguments)]
        return subprocess.Popen(
            command, env=self._environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def file(self, text: str, ending: str = '.pddl') -> Path:
        path = self._runs / f'problem{ending}'
        path.write_text(text, encoding='utf-8')
        return path

    def keep(self, name: str, *arguments: object, answers: tuple[str, ...] = (), until: str = '',
             then: tuple[str, ...] = ()) -> None:  # fmt: skip
        """Runs `safegen ARGUMENTS`, a verb first; when it prints `until`, runs another verb or
        interrupts it."""
        self._script.answers = list(answers) or ['I do not know.']
        before = set(self._runs.glob('*/journal.db'))
        running = self.start(*map(str, arguments))
        said = ''
        for line in running.stdout or ():
            said += line
            if until and until in line:
                until = ''
                if then:
                    digest = [line.split()[-1]] if then == ('approve',) else []
                    print(self.start(*then, *digest).communicate()[0])
                else:
                    running.send_signal(signal.SIGINT)
        status = running.wait()
        print(f'{name}: {status}\n{said}', flush=True)
        [made] = set(self._runs.glob('*/journal.db')) - before
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps([entry.kind, entry.data]) for entry in load_journal(made))
        text = '\n'.join(lines).replace(f'{self._runs}/', 'tasks/').replace(f'{ROOT}/', '')
        (self._folder / f'{name}.jsonl').write_text(f'{text}\n')


@contextmanager
def stack(folder: Path, kept: Path, executor: str = '', **values: object) -> Iterator[Recorder]:
    folder.mkdir()
    script = Script()
    variables = {
        'SAFEGEN_RUNS_DIR': str(folder / 'runs'), 'SAFEGEN_RUNTIME_DIR': str(folder),
        'SAFEGEN_STATE_DIR': str(folder), 'XDG_STATE_HOME': str(folder), 'HOME': str(folder),
        VARIABLE: str(folder / 'acts.json'), 'PYTHONPATH': f'{ROOT / "test"}', 'COLUMNS': '200',
        'ROS_DOMAIN_ID': os.environ['ROS_DOMAIN_ID'],
    }  # fmt: skip
    (folder / 'runs').mkdir()
    parameters = folder / 'parameters.yaml'
    parameters.write_text(
        '/**/planner:\n  ros__parameters:\n    heartbeat_timeout: 60.0\n'
        '/**/executor:\n  ros__parameters:\n    heartbeat_timeout: 60.0\n'
    )
    with ModelServer() as server:
        server.script = script
        model = f'{server.url}#{MODEL}'
        given = {'params_file': parameters, 'model': model, 'translator': model, **values}
        specs = [
            replace(spec, module=executor) if executor and spec.name == 'executor' else spec
            for spec in node_specs('sim', given)
        ]
        with Supervisor(specs, log_dir=folder, environment=variables) as running:
            running.wait_ready()
            yield Recorder(kept, script, variables)


def symbolic(run: Recorder) -> None:
    three = run.file(THREE_TEXT)
    run.keep('search', 'run', TOWER, *SEARCH)
    run.keep('retries', 'run', three, *BY_MODEL, answers=('Sure!', UNSAFE, GOOD))
    run.keep('model-fails', 'run', three, '--strategy', 'model,search', answers=('Sure!',))
    run.keep('exhausted', 'run', three, *BY_MODEL, '--no-search', answers=('Sure!', UNSAFE))
    run.keep('json', 'run', three, '--format', 'json', *SEARCH)
    run.keep('english', 'run', three, '--format', 'english', *SEARCH)
    for domain, problem in (('ferry', ''), ('grippers', ''), ('spanner', '')):
        found = sorted((ROOT / 'data/safegen-bench/test').glob(f'{domain}-*.pddl'))
        run.keep(domain, 'run', problem or min(found, key=lambda p: p.stat().st_size), *SEARCH)
    plan = run.file(GOOD, '.plan')
    run.keep('own-plan', 'execute', three, plan)
    plan = run.file(UNSAFE, '.plan')
    run.keep('refused-plan', 'execute', three, plan)
    plain = THREE_TEXT.replace(f'(:constraints {GIVEN})', '')
    start = run.file(plain.replace('(and (on a b) (on c a))', '(and)'), '.start.pddl')
    run.keep('words', 'run', REQUEST, '--words', '--start', start, '--constraints', GIVEN, '--yes',
             *SEARCH, answers=(plain,), until='safegen approve', then=('approve',))  # fmt: skip
    run.keep('no-plan', 'run', run.file(NO_PLAN), *SEARCH)
    run.keep('step-by-step', 'run', run.file(THREE_TEXT), '--step-by-step', *SEARCH)
    run.keep('boxnet', 'run', MAP, '--read-as', 'boxnet', *SEARCH)
    candle = tuple(json.dumps({'think': '', 'action': action}) for action in CANDLE)
    task = run.file('fire-candle', '.txt')
    run.keep('household', 'run', task, '--read-as', 'household', '--step-by-step',
             '--max-steps', 8, answers=('nonsense', *candle))  # fmt: skip
    long = run.file(LASTING_TEXT)
    run.keep('cancelled', 'run', long, *SEARCH, until='stack b10 b11')
    run.keep('stopped', 'run', long, *SEARCH, until='unstack b5', then=('stop',))
    print(run.start('reset').communicate()[0])


def hidden(run: Recorder) -> None:
    run.keep('looks', 'run', run.file(BELIEVED), '--step-by-step', *SEARCH)


def twin(run: Recorder, acts: Path) -> None:
    run.keep('twin', 'run', TOWER, *SEARCH)
    acts.write_text(json.dumps([['(stack a b)', 'a', '']]))
    run.keep('replan', 'run', run.file(THREE_TEXT), *SEARCH, '--replans', '2')


def main(folder: Path) -> None:
    work = Path(os.environ.get('TMPDIR', '/tmp')) / f'golden-{os.getpid()}'
    work.mkdir()
    kept = folder / 'runs'
    with stack(work / 'symbolic', kept, cell='symbolic', real_time_factor=20) as run:
        symbolic(run)
    start = work / 'hidden.pddl'
    start.write_text(HIDDEN)
    with stack(
        work / 'hidden', kept, cell='symbolic', view='above', start_file=start, real_time_factor=0
    ) as run:
        hidden(run)
    executor = 'support.disturbed_executor'
    with stack(work / 'twin', kept, executor, real_time_factor=0) as run:
        twin(run, work / 'twin' / 'acts.json')
    shutil.rmtree(work)


if __name__ == '__main__':
    main(Path(sys.argv[1]))

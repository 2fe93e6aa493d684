# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen rules`: safety rules in plain words, shown back as PDDL3 and added to a problem."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.cli.failures import AnyName, ExitStatus, JsonOnly, Verbose, guarded, teller
from safegen_ros.errors import ErrorCode, SafegenError, TextError
from safegen_ros.goals.files import DomainFile, ReadAs, find_problem, read_task

if TYPE_CHECKING:
    from safegen_ros.language.rule_files import Read


def rules(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='RULE',
            help='rules in plain words, such as "never put anything on b3", or in PDDL3',
        ),
    ] = None,
    problem: Annotated[
        Path, typer.Option('--problem', help='problem file or ID that the rules apply to')
    ] = Path('examples/tower_order.pddl'),
    domain: DomainFile = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(
            '--file', help='file of more rules (YAML for rules about attributes of objects)'
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help='model that translates the RULEs into PDDL3: a folder, or '
            'http://HOST:PORT/v1#MODEL for a server'
        ),
    ] = '',
    out: Annotated[
        Path | None,
        typer.Option(
            '--out', help='write the problem with the added rules to this file, in its format'
        ),
    ] = None,
    as_json: JsonOnly = False,
    read_as: ReadAs = '',
    any_name: AnyName = False,
    verbose: Verbose = False,
) -> None:
    """Say what rules in plain words mean for a problem, and add them to it.

    Rules are only ever added: what the problem forbids stays forbidden. A model may misread a
    rule: read its sentences before you use the problem.

    Exit status: 0 done, 1 no plan can keep all rules, or the model does not answer, 2 bad input or
    a refused answer of the model, 3 internal error.
    """
    from safegen_ros.console.choices import rule_examples
    from safegen_ros.language.rule_files import gather_rules

    offered: list[str] = []
    if model and not texts:
        raise typer.BadParameter('there is no RULE to read', param_hint='--model')

    def whole() -> int:
        task = read_task(find_problem(problem), domain, format=read_as, any_name=any_name)
        try:
            with _reader(model) as read:
                found = gather_rules(task.problem, texts or (), file or (), read)
            merged = task.with_rules(found.readings)
        except SafegenError as error:
            if error.code not in (ErrorCode.UNSOLVABLE, ErrorCode.BACKEND_FAILED):
                unread = isinstance(error, TextError) or error.code is ErrorCode.EMPTY_TASK
                if unread and not as_json:
                    offered.extend(rule_examples(task.problem))
                raise
            tell(error, error.message)
            return ExitStatus.FAILED
        if out is not None:
            try:
                out.write_text(merged.problem_text, encoding='utf-8')
            except OSError as error:
                raise SafegenError(
                    f'{out}: cannot be written: {error.strerror}: name another file',
                    ErrorCode.BAD_PDDL,
                ) from error
        if as_json:
            readings = [reading.to_dict() for reading in found.readings]
            print(json.dumps({'readings': readings, 'idle': found.idle, 'errors': []}))
        else:
            print(found.shown())
            if out is None:
                print('not written: --out FILE writes the problem with these rules')
        return ExitStatus.OK

    tell = teller(as_json, {'readings': [], 'idle': []})
    status = guarded(whole, tell, verbose)
    for each in offered:
        print(f'  such as: {each}', file=sys.stderr)
    raise typer.Exit(status)


@contextmanager
def _reader(model: str) -> Iterator[Read]:
    """Who reads the rules of the command line: our wording, or the model that is named."""
    from safegen_ros.language.rules import read_rules

    if not model:
        yield read_rules
        return
    from safegen_ros.language.rule_files import MAX_ATTEMPTS, ask_model
    from safegen_ros.llm.model_names import named_model
    from safegen_ros.llm.open_backend import open_backend

    with closing(open_backend(named_model(model))) as backend:
        yield lambda text, problem, source: ask_model(
            text, problem, backend, attempts=MAX_ATTEMPTS, source=f'{source} by {model}'
        )

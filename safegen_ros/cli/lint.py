# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen lint`: errors and likely mistakes in a domain and a problem."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from textwrap import TextWrapper
from typing import Annotated

import typer

from safegen_ros.cli.completion import complete_problem
from safegen_ros.cli.failures import AnyName, ExitStatus, JsonOnly, Verbose, guarded, teller
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goals.files import find_problem, read_text
from safegen_ros.lint.findings import LEVELS
from safegen_ros.pddl.text_files import pddl_kind

_WRAPPED = TextWrapper(80, subsequent_indent='    ', break_long_words=False, break_on_hyphens=False)


def lint(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar='DOMAIN [PROBLEM]',
            help='PDDL files, in either order (a problem alone: with the built-in domain '
            'that it names)',
            autocompletion=complete_problem,
        ),
    ],
    as_json: JsonOnly = False,
    any_name: AnyName = False,
    verbose: Verbose = False,
) -> None:
    """Say what is refused in a PDDL domain or problem, and what is legal and looks wrong.

    Exit status: 0 nothing, or notes only, 1 warnings, 2 errors or files that cannot be read, 3
    internal error.
    """
    if len(files) > 2:
        raise typer.BadParameter('give one domain and at most one problem')

    def whole() -> int:
        from safegen_ros.lint import lint as look

        texts = [(read_text(path, 'file'), str(path)) for path in map(find_problem, files)]
        if pddl_kind(texts[0][0]) == 'problem':
            texts.reverse()
            if len(texts) == 1:
                texts.insert(0, _built_in(*texts[0]))
        found = look(texts[0], texts[1] if len(texts) == 2 else None, any_name=any_name)
        counts = Counter(each.level for each in found)
        if as_json:
            print(json.dumps({'findings': list(map(asdict, found)), **_counts(counts)}))
        else:
            for each in found:
                print(_WRAPPED.fill(str(each)))
            told = [f'{counts[name]} {name}{"s" * (counts[name] != 1)}' for name in LEVELS]
            print(', '.join(each for each in told if each[0] != '0') or 'nothing found')
        if counts['error']:
            return ExitStatus.BAD_INPUT
        return ExitStatus.FAILED if counts['warning'] else ExitStatus.OK

    tell = teller(as_json, {'findings': [], **_counts({})}, 'failures')
    raise typer.Exit(guarded(whole, tell, verbose))


def _counts(counts: dict[str, int]) -> dict[str, int]:
    return {f'{name}s': counts.get(name, 0) for name in LEVELS}


def _built_in(text: str, source: str) -> tuple[str, str]:
    """The text of the built-in domain that a problem names, and a name for it."""
    from safegen_ros.pddl.reader import problem_domain_name
    from safegen_ros.tasks.pddl3.domains import builtin_domain_text, domain_files

    name = problem_domain_name(text, source).text
    if name not in domain_files():
        raise SafegenError(
            f'{source}: its domain {name!r} is not built in: give the file of the domain, too',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    return builtin_domain_text(name), f'<{name}>'

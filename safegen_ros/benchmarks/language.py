# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How much of collections of PDDL files is read, and why the rest is refused."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from safegen_ros.benchmarks.comparison import wilson
from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import problem_domain_name, read_domain, read_problem
from safegen_ros.pddl.text_files import pddl_kind, read_text

NO_DOMAIN = 'no domain of its name is in the folder'

_NAMED = ('the operator', 'the requirement', 'the numeric')  # refusals that name a feature
_OWN = re.compile(
    r"'[^']*'|(?<=\bdomain )\S+|(?<=\baction )\S+|(?<=\btype )\S+|(?<=\btakes )\S+(?= here)"
    r'|(?<=\(:)\S+ \S+(?= \.\.\.\))|\b\d[\d,.]*'
)
"""What of a message is of the text itself: names and numbers."""

_Found = TypeVar('_Found')

Told = Callable[[str], None]


@dataclass(slots=True)
class Share:
    """How many files of a kind are read; `reasons` counts the refusals, with an example of each.

    Attributes:
        broken: refused files that are not one balanced list; see `is_one_list`.
    """

    read: int = 0
    refused: int = 0
    broken: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """All files."""
        return self.read + self.refused

    @property
    def well_formed(self) -> int:
        """The files that are one balanced list."""
        return self.trials - self.broken

    def refuse(self, reason: str, example: str, broken: bool = False) -> None:
        """Counts a refusal."""
        self.refused += 1
        self.broken += broken
        self.reasons[reason] += 1
        self.examples.setdefault(reason, example)

    def add(self, other: Share) -> None:
        """Counts the files of another collection, too."""
        self.read += other.read
        self.refused += other.refused
        self.broken += other.broken
        self.reasons.update(other.reasons)
        self.examples = {**other.examples, **self.examples}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = wilson(self.read, self.trials)
        return {
            'files': self.trials,
            'read': self.read,
            'percent': round(100 * self.read / self.trials, 1) if self.trials else None,
            'interval_percent': [round(100 * low, 1), round(100 * high, 1)],
            'well_formed': self.well_formed,
            'percent_of_well_formed': round(100 * self.read / max(1, self.well_formed), 1),
            'refused': dict(self.reasons.most_common()),
            'examples': self.examples,
        }


@dataclass(frozen=True, slots=True)
class CollectionShares:
    """The shares of a folder; a text that is there more than once counts once."""

    name: str
    domains: Share = field(default_factory=Share)
    problems: Share = field(default_factory=Share)
    unpaired: Share = field(default_factory=Share)


def measure_folder(
    folder: Path, most: int = 0, seed: int = 0, told: Told = lambda path: None
) -> CollectionShares:
    """Reads every PDDL file of a folder and the folders below it.

    A problem is read with the domain of its name that is nearest to it; one whose domain is refused
    or is not there is `unpaired`.

    Args:
        most: how many domains and how many problems are drawn at random; 0 for all of them.
        told: called with the path of each file before it is read.
    """
    texts = _texts(folder)
    rng = Random(seed)  # noqa: S311
    found = CollectionShares(folder.name or str(folder))
    read: dict[Path, Domain | None] = {}
    paths = [path for path, text in texts.items() if pddl_kind(text) == 'domain']
    for path in _drawn(_once(paths, texts), most, rng):
        told(str(path))
        read[path] = _read(found.domains, path, texts[path], read_domain)
    domains = _by_name(paths, texts)
    paths = [path for path, text in texts.items() if pddl_kind(text) == 'problem']
    for path in _drawn(_once(paths, texts), most, rng):
        told(str(path))
        try:
            wanted = problem_domain_name(texts[path], str(path)).text
        except PddlError as error:
            found.problems.refuse(reason_of(error), str(path), not is_one_list(texts[path]))
            continue
        nearest = _nearest(domains.get(wanted, ()), path)
        if nearest is None:
            found.unpaired.refuse(NO_DOMAIN, str(path))
            continue
        if nearest not in read:
            read[nearest] = _read(Share(), nearest, texts[nearest], read_domain)
        domain = read[nearest]
        if domain is None:
            found.unpaired.refuse('its domain is refused', str(path))
        else:
            _read(found.problems, path, texts[path], partial(_problem, domain))
    return found


def pairs(folder: Path, any_name: bool = False) -> Iterator[tuple[Path, Path]]:
    """The problems of a folder that have a domain there, each after the nearest one of its name.

    Args:
        any_name: whether a problem without one goes with the nearest domain of any name.
    """
    texts = _texts(folder)
    paths = [path for path, text in texts.items() if pddl_kind(text) == 'domain']
    domains = _by_name(paths, texts)
    problems = [path for path, text in texts.items() if pddl_kind(text) == 'problem']
    for path in _once(problems, texts):
        near = domains.get(_name(texts[path], ':domain'), ())
        nearest = _nearest(near or (paths if any_name else ()), path)
        if nearest is not None:
            yield nearest, path


def _texts(folder: Path) -> dict[Path, str]:
    """The PDDL texts below a folder; equal ones are one value."""
    seen: dict[str, str] = {}
    found = {}
    for path in _files(folder):
        try:
            text = read_text(path, 'file')
        except SafegenError:
            continue
        found[path] = seen.setdefault(text, text)
    if not found:
        raise SafegenError(f'{folder}: holds no *.pddl: give the folder of PDDL files')
    return found


def _once(paths: Sequence[Path], texts: Mapping[Path, str]) -> list[Path]:
    """The first path of each text."""
    first: dict[str, Path] = {}
    return [path for path in paths if first.setdefault(texts[path], path) is path]


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, n) for n in sorted(names) if n.lower().endswith('.pddl'))


def _drawn(paths: Sequence[Path], most: int, rng: Random) -> list[Path]:
    return list(paths) if not most or len(paths) <= most else sorted(rng.sample(paths, most))


def _read(share: Share, path: Path, text: str, read: Callable[[str, str], _Found]) -> _Found | None:
    """Counts a text, and returns what is read; None for a refused one."""
    try:
        found = read(text, str(path))
    except PddlError as error:
        share.refuse(reason_of(error), str(path), not is_one_list(text))
        return None
    share.read += 1
    return found


def _problem(domain: Domain, text: str, source: str) -> Problem:
    return read_problem(text, domain, source)


def is_one_list(text: str) -> bool:
    """Whether a text is one list with balanced parentheses, besides comments."""
    text, depth = re.sub(r';[^\n]*', '', text).strip(), 0
    for each in re.finditer(r'[()]', text):
        depth += 1 if each[0] == '(' else -1
        if depth <= 0:
            return depth == 0 and each.end() == len(text)
    return False


def reason_of(error: PddlError) -> str:
    """Why a text is refused, without the names and numbers of that text.

    A feature that is not supported comes before mistakes, since it may be what leads to them.
    """
    first = next((e for e in error.errors if e.code is ErrorCode.UNSUPPORTED_FEATURE), error)
    text = first.what.split(': ')[0]
    return text if text.startswith(_NAMED) else _OWN.sub('...', text)


def _by_name(paths: Sequence[Path], texts: Mapping[Path, str]) -> dict[str, list[Path]]:
    """The domains of each name."""
    domains: dict[str, list[Path]] = {}
    for path in paths:
        domains.setdefault(_name(texts[path], 'domain'), []).append(path)
    return domains


def _name(text: str, word: str) -> str:
    """The name that a domain has, or that a problem asks for."""
    match = re.search(rf'\(\s*{word}\s+([^\s()]+)', text, re.IGNORECASE)
    return match[1].lower() if match else ''


def _nearest(domains: Sequence[Path], problem: Path) -> Path | None:
    return min(domains, key=lambda domain: _distance(problem, domain), default=None)


def _distance(problem: Path, domain: Path) -> tuple[int, bool, int, str]:
    """How far a domain is from a problem: folders apart, other numbers, other beginnings."""
    folders = len(os.path.relpath(domain.parent, problem.parent).split(os.sep))
    apart = folders if domain.parent != problem.parent else 0
    digits = re.findall(r'\d+', problem.stem)[:1] != re.findall(r'\d+', domain.stem)[:1]
    pairs = zip(problem.name, domain.name, strict=False)
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return apart, digits, -common, str(domain)


def share_text(share: Share) -> str:
    """`12 of 15, 80 % (55 to 93)`."""
    if not share.trials:
        return '-'
    low, high = wilson(share.read, share.trials)
    percent = 100 * share.read / share.trials
    return f'{share.read} of {share.trials}, {percent:.0f} % ({100 * low:.0f} to {100 * high:.0f})'


def well_formed_text(share: Share) -> str:
    """`92 % of 13`: the share of the well-formed files that is read."""
    percent = 100 * share.read / max(1, share.well_formed)
    return f'{percent:.0f} % of {share.well_formed}' if share.well_formed else '-'


def total(collections: Sequence[CollectionShares]) -> CollectionShares:
    """All collections together."""
    whole = CollectionShares('all')
    for each in collections:
        whole.domains.add(each.domains)
        whole.problems.add(each.problems)
        whole.unpaired.add(each.unpaired)
    return whole


def as_values(collections: Sequence[CollectionShares]) -> Mapping[str, Any]:
    """The figures for JSON."""
    return {
        each.name: {
            'domains': each.domains.as_dict(),
            'problems': each.problems.as_dict(),
            'unpaired': each.unpaired.as_dict(),
        }
        for each in (*collections, total(collections))
    }

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Starts a domain folder from `_template`, and finds contradictions in a folder."""

from __future__ import annotations

import keyword
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import iter_modules
from tempfile import mkdtemp

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.lexicon import Wording
from safegen_ros.pddl.formulas import TRAJECTORY_OPERATORS
from safegen_ros.pddl.model import Domain
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits, load_kit
from safegen_ros.tasks.pddl3.domains.folders import SEARCH_PATH, domain_folders, listed_directories
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.tasks.pddl3.domains.kit import (
    UNCONSTRAINED,
    DomainKit,
    GeneratedProblem,
    SizeParameter,
)
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import Validator

_WORD = re.compile(r'\{\d+\}|,|[A-Za-z][A-Za-z0-9-]*')

_JOINING = {'and', 'both', 'if', 'or', 'then'}


@dataclass(frozen=True, slots=True)
class DomainFinding:
    """What is wrong with a domain folder.

    Attributes:
        note: whether the folder can do without the fix.
    """

    message: str
    note: bool = False


def inspect_domain(name: str, problems: int = 5, seed: int = 0) -> Iterator[DomainFinding]:
    """What is wrong with a domain folder; nothing where it is in order.

    What a finding makes meaningless is not looked at: problems are drawn only from a kit that fits
    its domain.

    Raises:
        SafegenError: there is no such folder.
    """
    folders = domain_folders()
    if name not in folders:
        raise SafegenError(
            f'there is no domain folder {name!r}: use one of {" ".join(folders)}, or '
            'name the folder that has yours in SAFEGEN_DOMAIN_PATH',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    try:
        kit = load_kit(name)
        kits()
        domain = builtin_domain(kit.names[0])
    except SafegenError as error:
        own = name in error.message
        yield DomainFinding(error.message if own else f'{name}: not looked at yet: {error.message}')
        return
    found = [
        *_parameter_findings(kit),
        *_family_findings(kit),
        *wording_findings(kit.wording, domain),
    ]
    yield from (DomainFinding(f'{name}: {each.message}', each.note) for each in found)
    if not all(each.note for each in found):
        return
    for family in (UNCONSTRAINED, *kit.families):
        drawn = list(family_findings(kit, family, problems, seed))
        yield from (DomainFinding(f'{name}: {message}', note) for message, note in drawn)
        if family == UNCONSTRAINED and not all(note for _, note in drawn):
            return  # families rest on these problems


def _parameter_findings(kit: DomainKit) -> Iterator[DomainFinding]:
    names = [p.name for p in kit.parameters]
    for name, count in Counter(names).items():
        if count > 1:
            yield DomainFinding(f'parameter {name!r}: stands there {count} times: leave it once')
    for parameter in kit.parameters:
        yield from map(DomainFinding, _range_faults(parameter))
    for name in names:
        weight = kit.weights.get(name)
        if weight is None:
            yield DomainFinding(f'weights: none for the parameter {name!r}: add one')
        elif not math.isfinite(weight):
            yield DomainFinding(f'weights: that of {name!r} is {weight}: use a number of steps')
    for name in kit.weights:
        if name not in names:
            yield DomainFinding(f'weights: {name!r} is not a parameter: use {" ".join(names)}')
    if not math.isfinite(kit.goal_weight):
        yield DomainFinding(f'goal_weight: it is {kit.goal_weight}: use a number of steps')


def _range_faults(parameter: SizeParameter) -> Iterator[str]:
    p = parameter
    place = f'parameter {p.name!r}'
    for what, (low, high) in (('paper', p.paper), ('wide', p.wide)):
        if low > high:
            yield f'{place}: {what}={low, high} ends before it begins: swap the two'
        elif not p.least <= low <= high <= p.most:
            allowed = f'least={p.least} and most={p.most}'
            yield f'{place}: {what}={low, high} is not between {allowed}: change one of them'
    if p.paper[0] < p.wide[0] or p.wide[1] < p.paper[1]:
        yield f'{place}: wide={p.wide} does not hold all of paper={p.paper}: make it wider'


def _family_findings(kit: DomainKit) -> Iterator[DomainFinding]:
    if not kit.families:
        yield DomainFinding(
            'families: there are none: add one, for safety is what problems are about'
        )
    for name, family in kit.families.items():
        place = f'family {name!r}'
        if family.name != name:
            yield DomainFinding(
                f'{place}: the family there is named {family.name!r}: make them equal'
            )
        for operator in family.operators:
            if operator not in TRAJECTORY_OPERATORS:
                known = ', '.join(TRAJECTORY_OPERATORS)
                yield DomainFinding(
                    f'{place}: {operator!r} is not an operator of PDDL3: use one of {known}'
                )
        if not family.summary:
            yield DomainFinding(
                f'{place}: it has no summary: say in a line what it asks for', note=True
            )


def wording_findings(wording: Wording, domain: Domain) -> Iterator[DomainFinding]:
    """What is wrong with the words for a domain."""
    shapes: dict[tuple[str, ...], str] = {}
    for predicate, templates in wording.facts.items():
        place = f'wording of {predicate!r}'
        if predicate not in domain.predicates:
            known = ' '.join(domain.predicates)
            yield DomainFinding(f'{place}: the domain has no such predicate: use one of {known}')
            continue
        count = len(domain.predicates[predicate])
        for template in templates:
            yield from (DomainFinding(f'{place}: {fault}') for fault in _faults(template, count))
            words = re.sub(r'\{\d+\}', '{}', template).lower().split()
            other = shapes.get(tuple(words))
            if other is not None:
                yield DomainFinding(f'{place}: {template!r} reads like {other!r}: use other words')
            shapes[tuple(words)] = template
    for predicate in domain.predicates:
        if predicate not in wording.facts:
            what = 'has no words, and reads "... holds for ..."'
            yield DomainFinding(f'wording of {predicate!r}: {what}: add two templates', note=True)
    yield from _noun_findings(wording, domain)


def _faults(template: str, count: int) -> Iterator[str]:
    words = template.replace(',', ' ,').split()
    strange = [word for word in words if not _WORD.fullmatch(word)]
    if strange:
        cure = 'use plain words, and {0}, {1} ... with blanks around them'
        yield f'{template!r} holds {strange[0]!r}: {cure}'
        return
    joining = _JOINING.intersection(word.lower() for word in words)
    if joining:
        yield f'{template!r} holds {min(joining)!r}, which joins facts: use other words'
    slots = sorted(int(word[1:-1]) for word in words if word[0] == '{')
    if slots != list(range(count)):
        wanted = ' '.join(f'{{{number}}}' for number in range(count)) or 'no slot'
        yield f'{template!r} is for a predicate with {count} arguments: it needs {wanted}, once'


def _noun_findings(wording: Wording, domain: Domain) -> Iterator[DomainFinding]:
    types = {*domain.types, 'object'}
    owners: dict[str, str] = {}
    for group, known in ((wording.nouns, types), (wording.kinds, set(domain.predicates))):
        for name, pair in group.items():
            place = f'wording: noun for {name!r}'
            if name not in known:
                yield DomainFinding(
                    f'{place}: the domain has no such thing: use {" ".join(sorted(known))}'
                )
            for noun in dict.fromkeys(pair):
                if not re.fullmatch('[a-z][a-z0-9-]*', noun) or noun in _JOINING:
                    yield DomainFinding(
                        f'{place}: {noun!r} is not one plain word in small letters: use one'
                    )
                other = owners.setdefault(noun, name)
                if other != name and {name, other} <= group.keys():
                    yield DomainFinding(
                        f'{place}: {noun!r} is that for {other!r} too: use another one'
                    )
    for kind in sorted(domain.types.keys() - wording.nouns.keys()):
        what = 'there is none, and its objects read "of type ..."'
        yield DomainFinding(
            f'wording: noun for {kind!r}: {what}: add singular and plural', note=True
        )
    unary = [name for name, kinds in domain.predicates.items() if len(kinds) == 1]
    for name in wording.kinds.keys() & domain.predicates.keys() - set(unary):
        yield DomainFinding(f'wording: kind {name!r} is not of one argument: use {_listed(unary)}')
    if wording.distinct is not None:
        predicate, member = wording.distinct
        binary = [name for name, kinds in domain.predicates.items() if len(kinds) == 2]
        if predicate not in binary:
            yield DomainFinding(
                f'wording: distinct: {predicate!r} is not a predicate of two arguments: '
                f'use {_listed(binary)}'
            )
        if member not in wording.kinds:
            cure = f'use {_listed(list(wording.kinds))}'
            yield DomainFinding(f'wording: distinct: {member!r} is not among the kinds: {cure}')


def _listed(names: Sequence[str]) -> str:
    return f'one of {" ".join(names)}' if names else 'none, there is no such predicate'


def family_findings(
    kit: DomainKit, family: str, problems: int, seed: int
) -> Iterator[tuple[str, bool]]:
    """What is wrong with problems of a family; of the first one that has a fault, all of them.

    Yields:
        A message with place and cure, and whether it is a note only.
    """
    drawn: list[GeneratedProblem] = []
    for number in range(seed, seed + problems):
        place = f'family {family!r}, seed {number}'
        try:
            generated = kit.problem(number, family=family)
            faults = [*problem_faults(kit, generated), *format_faults(generated)]
            again = kit.problem(number, generated.size, family)
        except PddlError as error:
            faults = [f'the generator makes no PDDL: {error.message}']
        except SafegenError as error:
            faults = [error.message]
        except Exception as error:
            what = f'{type(error).__name__}: {error}'
            faults = [f'the folder raises {what}: fix its code; a family that does not fit is None']
        else:
            if again.text != generated.text:
                cure = 'draw only from the generator of random numbers that is given'
                faults.append(f'the same seed gives two problems: {cure}')
            drawn.append(generated)
        if faults:
            yield from ((f'{place}: {fault}', False) for fault in faults)
            return
    different = len({canonical_problem(generated.problem).key for generated in drawn})
    if 2 * different < len(drawn):
        what = f'only {different} of {len(drawn)} problems differ by more than names'
        yield f'family {family!r}: {what}: widen the ranges of the sizes', True


def problem_faults(kit: DomainKit, generated: GeneratedProblem) -> Iterator[str]:
    """What a generated problem promises and does not hold.

    It can be solved, is not solved at the start, and has the requested size. Its constraints use
    the operators of its family, and the direct plan breaks them.
    """
    problem = generated.problem
    used = {constraint.operator for constraint in problem.constraints}
    family = kit.families.get(generated.family)
    named = set() if family is None else set(family.operators)
    if used != named:
        what = f'its constraints use {_joined(used)}, its operators are {_joined(named)}'
        yield f'{what}: make them equal'
    validator = Validator(problem)
    verdict = validator.verify(generated.witness)
    if not verdict.ok:
        yield f'the witness fails: {verdict.reason}: build it so that it obeys the constraints'
    free = validator if not problem.constraints else Validator(replace(problem, constraints=()))
    verdict = free.verify(generated.direct)
    if not verdict.ok:
        yield f'the direct plan misses the goal: {verdict.reason}: fix the direct plan'
    elif problem.constraints:
        verdict = validator.verify(generated.direct)
        if verdict.category is not Category.SAFETY_VIOLATION:
            yield 'the direct plan does not break the constraints: they must forbid something'
    if free.verify('').ok:
        yield 'the goal holds at the start: change what the generator draws'
    size = kit.measure(problem)
    if size != dict(generated.size):
        what = f'measure returns the size {size}, drawn was {dict(generated.size)}'
        yield f'{what}: let the two agree'


def format_faults(generated: GeneratedProblem) -> Iterator[str]:
    """Formats in which the problem is not read back as it was written."""
    problem = generated.problem
    for name, form in FORMATS.items():
        text = form.write(problem)
        try:
            same = form.read(text, problem.domain, f'<{name}>') == problem
        except PddlError as error:
            yield f'{name} is not read back: {error.message}'
        else:
            if not same:
                cure = 'look for templates that fit the same words'
                yield f'{name} is read back as another problem: {cure}'


def _joined(names: set[str]) -> str:
    return ' and '.join(sorted(names)) or 'none'


_TEMPLATE = Path(__file__).parent / '_template'

_NAME = re.compile('[a-z][a-z0-9_]*')


def new_domain(name: str, into: Path | None = None) -> Path:
    """Makes a working domain folder, in one go or not at all.

    Args:
        name: what the domain and its folder will be called.
        into: directory of the new folder, which is made if it is missing; None for this package in
            a source checkout.

    Returns:
        The new folder.

    Raises:
        SafegenError: the name is not an identifier or is taken, the folder exists, or it cannot
            be written there.
    """
    _check_name(name)
    directory = _own_directory() if into is None else into.absolute()
    folder = directory / name
    if folder.exists():
        raise _refused(f'{folder} exists already: take another name or directory')
    try:
        directory.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(dir=directory, prefix=f'.{name}-'))
    except OSError as error:
        raise _refused(f'{directory} cannot be written: {error.strerror}: give another') from error
    try:
        for source in sorted(_TEMPLATE.iterdir()):
            if source.is_file():
                text = source.read_text(encoding='utf-8').replace(_TEMPLATE.name, name)
                (draft / source.name).write_text(text, encoding='utf-8')
        draft.chmod(0o755)
        draft.rename(folder)
    except OSError as error:
        raise _refused(f'{folder} cannot be written: {error.strerror}: fix that') from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise _refused(
            f'{name!r} is not a name for a domain folder, which is a Python package: use small '
            'letters, digits and _, with a letter first, and no word of Python'
        )
    names = {other for kit in kits().values() for other in kit.names}
    directories = [str(Path(__file__).parent), *listed_directories()]
    if name in names | {module.name for module in iter_modules(directories)}:
        raise _refused(f'the name {name!r} is taken: choose another one')


def _own_directory() -> Path:
    """This package's folder, if it is that of a source checkout.

    Raises:
        SafegenError: it is an installed package, or may not be written.
    """
    directory = _TEMPLATE.parent
    checkout = directory.parents[3]
    if not (checkout / 'setup.py').is_file() or not os.access(directory, os.W_OK):
        raise _refused(
            'this safegen is not a source checkout that can be written: '
            f'give a directory of yours with --into, and list it in {SEARCH_PATH}'
        )
    return directory


def _refused(message: str) -> SafegenError:
    return SafegenError(message, ErrorCode.UNKNOWN_DOMAIN)

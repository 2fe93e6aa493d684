# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rules of a site: a file that binds every goal, and that no goal can drop.

`bind` adds its constraints to a task; proof, monitor and planner work on the bound task.
docs/site.md describes the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.keys.key_pair import INSTALLATION, KEY_NAME
from safegen_ros.language.additions import contradictions
from safegen_ros.language.placed import MAX_YAML, Placed, read_yaml
from safegen_ros.language.reading import read_formal
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.deciding import settled
from safegen_ros.pddl.formulas import flatten_constraints
from safegen_ros.pddl.model import And, Constraint, Domain, Problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.robot.pose import KeepOut, Point
from safegen_ros.robot.scene import Scene
from safegen_ros.tasks.pddl3.domains import builtin_domain, domain_files, require_same_actions
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.tasks.task import ActionTask

ALWAYS, AS_ASKED = 'always', 'as-asked'
"""When a plan has to be approved: each one, or where its goal asks for it."""

_KEYS = ('domains', 'approval', 'speed_limit', 'keep_out', 'senders')
_OBJECT = re.compile(r'[a-z][a-z0-9_-]*')
_STRANGER = 'any-other-object'  # what no rule can name
_FARTHEST_M = 10.0
_MOST_BOXES = 50


@dataclass(frozen=True, slots=True)
class SiteRule:
    """A rule of the site.

    Attributes:
        formula: the same in PDDL3, with its quantifiers.
        objects: what it names; a task that lacks one of them is not bound by it.
        place: `source:line:column`.
    """

    domain: str
    text: str
    formula: str
    objects: frozenset[str]
    place: str


@dataclass(frozen=True, slots=True)
class Site:
    """The rules of a site; without a file there are none.

    Attributes:
        digest: SHA-256 of the file, 64 hexadecimal digits; empty without a file.
        approve_always: whether every plan has to be approved before it is executed.
        speed_limit: highest joint speed as a share of the highest of the arm [1].
        keep_out: boxes that the arm and what it carries must not enter.
        senders: names of the keys that may send goals; None for all that have the role.
    """

    digest: str = ''
    rules: tuple[SiteRule, ...] = ()
    approve_always: bool = False
    speed_limit: float = 1.0
    keep_out: tuple[KeepOut, ...] = ()
    senders: frozenset[str] | None = None

    def check_sender(self, name: str) -> None:
        """Raises `SafegenError` (`SITE_REFUSED`) where a key may not send goals here.

        The nodes send the goals of others, which they have checked.
        """
        if self.senders is not None and name not in (*self.senders, INSTALLATION):
            raise refused(f'{name} is not among the senders of the site')

    def applied(self, scene: Scene) -> Scene:
        """A scene with the speed limit and the keep-out boxes of the site."""
        motion = replace(
            scene.motion,
            travel_speed_fraction=min(scene.motion.travel_speed_fraction, self.speed_limit),
            vertical_speed_fraction=min(scene.motion.vertical_speed_fraction, self.speed_limit),
        )
        return replace(scene, motion=motion, keep_out=self.keep_out)


@dataclass(frozen=True, slots=True)
class Bound:
    """A task with the rules of the site.

    Attributes:
        task: the task with its constraints and those of the site.
        notes: the rules that do not apply to it, and why.
    """

    task: ActionTask
    notes: tuple[str, ...] = ()


def refused(message: str) -> SafegenError:
    """The error of a goal that the site does not allow."""
    return SafegenError(message, ErrorCode.SITE_REFUSED)


def bind(task: ActionTask, site: Site) -> Bound:
    """The task with the constraints of the site beside its own; the goal can drop none of them.

    Rules are about PDDL tasks; a task of another world stays as it is.

    Raises:
        SafegenError: no plan could keep both, or a rule cannot be read for this task
            (`SITE_REFUSED`); the message names the rules.
    """
    if not isinstance(task, Pddl3Task):
        return Bound(task)
    problem, notes = task.problem, []
    found: dict[Constraint, None] = {}
    objects = problem.objects_by_type()
    for rule in site.rules:
        if not _is_about(rule, problem.domain):
            continue
        if missing := sorted(rule.objects - problem.objects.keys()):
            notes.append(f'{rule.place}: does not apply: the task has no {" ".join(missing)}')
            continue
        try:
            tree = read_formal(rule.formula, problem, rule.place)
            own = [replace(each, place=rule.place) for each in flatten_constraints(tree, objects)]
        except PddlError as error:
            raise refused(
                f'{rule.place}: the rule of the site cannot be read for domain '
                f'{problem.domain.name} of this task: {error.what}'
            ) from error
        if not own:
            notes.append(f'{rule.place}: does not apply: the task has no object of that type')
        found.update(dict.fromkeys(own))
    more = tuple(each for each in found if each not in problem.constraints)
    if not more:
        return Bound(task, tuple(notes))
    merged = settled(replace(problem, constraints=(*problem.constraints, *more)))
    if not contradictions(problem) and (why := contradictions(merged)):
        raise refused(_contradiction(why, site, more))
    text = FORMATS[task.format].write(merged)
    return Bound(replace(task, problem=merged, problem_text=text), tuple(notes))


def _contradiction(why: tuple[str, ...], site: Site, added: tuple[Constraint, ...]) -> str:
    named = {each.place for each in added if any(constraint_text(each) in text for text in why)}
    places = {rule.place: rule.text for rule in site.rules}
    told = [f'{place} ({places[place]})' for place in sorted(named or {a.place for a in added})]
    return (
        f'no plan can keep the rules of the site and this goal: {"; ".join(why[:3])}: '
        f'see {", ".join(told[:5])}: send another goal'
    )


def _is_about(rule: SiteRule, domain: Domain) -> bool:
    """Whether a domain is that of a rule, whatever it calls itself."""
    if domain.name == rule.domain:
        return True
    try:
        require_same_actions(domain, rule.domain)
    except SafegenError:
        return False
    return True


def load_site(path: Path) -> Site:
    """Reads a site file.

    Raises:
        SafegenError: it cannot be read, or is wrong, with the place.
    """
    data = _bytes_of(path)
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError:
        raise SafegenError(f'{path}: the site file is not UTF-8: save it as plain text') from None
    site = read_site(text, str(path))
    return replace(site, digest=hashlib.sha256(data).hexdigest())


def require_unchanged(site: Site, path: Path) -> None:
    """Refuses to go on with rules that are no longer those of their file (`SITE_REFUSED`).

    The editor of the file believes that its rules hold.
    """
    try:
        digest = hashlib.sha256(_bytes_of(path)).hexdigest()
    except SafegenError as error:
        raise refused(f'{error.message}: put it back, or start the stack again') from error
    if digest != site.digest:
        raise refused(
            f'{path}: the site file has changed since it was loaded: start the stack again to '
            'load its rules'
        )


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open('rb') as file:
            return file.read(4 * MAX_YAML + 1)
    except OSError as error:
        raise SafegenError(
            f'{path}: the site file cannot be read: {error.strerror}: check the path'
        ) from error


def read_site(text: str, source: str) -> Site:
    """The site of a text, without a digest; raises `PddlError` with the place."""
    whole = read_yaml(text, source)
    values = whole.mapping('the site file', _KEYS)
    if not values:
        raise whole.error('the site file has no rule', f'write one of {" ".join(_KEYS)}')
    rules: list[SiteRule] = []
    if 'domains' in values:
        for name, about in values['domains'].mapping('domains').items():
            rules += _rules(name, about)
    approval = values['approval'].text('approval') if 'approval' in values else AS_ASKED
    if approval not in (ALWAYS, AS_ASKED):
        raise values['approval'].error(
            f'{approval[:40]!a} is not an approval', f'write {ALWAYS} or {AS_ASKED}'
        )
    limit = 1.0
    if 'speed_limit' in values:
        limit = _number(values['speed_limit'], 'speed_limit', 0.01, 1.0)
    return Site(
        '',
        tuple(rules),
        approval == ALWAYS,
        limit,
        _boxes(values['keep_out']) if 'keep_out' in values else (),
        _senders(values['senders']) if 'senders' in values else None,
    )


def _rules(name: str, about: Placed) -> list[SiteRule]:
    if name not in domain_files():
        raise about.error(
            f'{name[:40]!a} is not a built-in domain', f'use one of {" ".join(domain_files())}'
        )
    domain = builtin_domain(name)
    values = about.mapping(f'domain {name}', ('objects', 'constraints'))
    named = _objects(values['objects'], domain) if 'objects' in values else {}
    kinds = domain.types or {'object': ''}
    # One object of each type that no rule can name: "every ball" has to be readable without any.
    strangers = {f'{_STRANGER}-{kind}': kind for kind in kinds}
    problem = Problem(
        'site', domain, {**domain.constants, **named, **strangers}, frozenset(), And(()), ()
    )
    if 'constraints' not in values:
        raise about.error(f'domain {name} has no constraints', "write 'constraints:' below it")
    items = values['constraints'].items('constraints')
    if not items:
        raise values['constraints'].error('there is no constraint', 'write one, or leave it out')
    return [rule for item in items for rule in _read(name, item, problem, set(named))]


def _read(name: str, item: Placed, problem: Problem, named: set[str]) -> list[SiteRule]:
    text = item.text('a constraint')
    place = f'{item.source}:{item.line}:{item.column}'
    try:
        found = read_rules(text, problem, place)
    except PddlError as error:
        cure = 'list each object that a rule names under objects'
        if error.cure and _STRANGER not in error.cure:
            cure = f'{error.cure}; {cure}'
        raise item.error(error.what, cure) from error
    rules = []
    for reading in found:
        if _STRANGER in reading.formula:
            raise item.error(
                'this comes to a list of objects', 'write it in PDDL3, with forall or exists'
            )
        words = set(re.findall(r'[^\s()]+', reading.formula))
        rules.append(SiteRule(name, reading.text, reading.formula, frozenset(words & named), place))
    return rules


def _objects(about: Placed, domain: Domain) -> Mapping[str, str]:
    """Names and types: a list where the domain has no types, else a mapping of types to lists."""
    by_type = about.mapping('objects', tuple(domain.types)) if domain.types else {'object': about}
    found: dict[str, str] = {}
    for kind, names in by_type.items():
        for each in names.items('objects'):
            name = each.text('an object')
            known = name in found or name in domain.constants
            if known or not _OBJECT.fullmatch(name) or name.startswith(_STRANGER):
                what = 'stands here twice' if known else 'is not a name of an object'
                raise each.error(f'{name[:40]!a} {what}', 'write lower-case names, each once')
            found[name] = kind
    return found


def _boxes(about: Placed) -> tuple[KeepOut, ...]:
    boxes: dict[str, KeepOut] = {}
    items = about.items('keep_out')
    if len(items) > _MOST_BOXES:
        raise about.error(f'{len(items)} boxes', f'write at most {_MOST_BOXES}')
    for item in items:
        values = item.mapping('a box', ('name', 'min', 'max'))
        for key in ('name', 'min', 'max'):
            if key not in values:
                raise item.error(f'the box has no {key}', 'give name, min and max')
        name = values['name'].text('name')
        if not _OBJECT.fullmatch(name) or name in boxes:
            raise values['name'].error(f'{name[:40]!a} is not a name, or is taken', 'use another')
        low, high = _point(values['min'], 'min'), _point(values['max'], 'max')
        if not all(b - a >= 0.001 for a, b in zip(low, high, strict=True)):
            raise values['max'].error('max is not above min', 'make each edge 1 mm or longer')
        boxes[name] = KeepOut(name, low, high)
    return tuple(boxes.values())


def _point(about: Placed, what: str) -> Point:
    items = about.items(what)
    if len(items) != 3:
        raise about.error(f'{what} has {len(items)} numbers', 'write [x, y, z] in metres')
    x, y, z = (_number(each, what, -_FARTHEST_M, _FARTHEST_M) for each in items)
    return x, y, z


def _number(about: Placed, what: str, low: float, high: float) -> float:
    value = about.value
    if isinstance(value, bool) or not isinstance(value, float) or not low <= value <= high:
        raise about.error(f'{what} must be a number', f'write one from {low:g} to {high:g}')
    return value


def _senders(about: Placed) -> frozenset[str]:
    names = set()
    for item in about.items('senders'):
        name = item.text('a sender')
        if not KEY_NAME.fullmatch(name) or name == INSTALLATION:
            raise item.error(f'{name[:40]!a} is not a name of a key', 'see the operators file')
        names.add(name)
    return frozenset(names)

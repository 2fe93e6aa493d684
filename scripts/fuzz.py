# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Feeds broken texts to the readers until time is up: only errors of this package may come out.

`python scripts/fuzz.py --minutes 10 --seed 0` mutates the built-in domains, the examples and a
text that uses the whole language, token by token and byte by byte. A finding is any other
exception, a call that takes too long, a message that could steer a terminal, or something that was
read but does not read back the same. Findings are saved with their text; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NoReturn

from safegen_ros.errors import PddlError, SafegenError, TextError
from safegen_ros.pddl.diagnostics import excerpt, with_excerpts
from safegen_ros.pddl.extract import extract_plan
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import problem_domain_name, read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, problem_text
from safegen_ros.verdict import Category
from safegen_ros.verify.cost import rank
from safegen_ros.verify.validator import Validator

ROOT = Path(__file__).resolve().parents[1]
DOMAINS = ROOT / 'safegen_ros' / 'tasks' / 'pddl3' / 'domains'

LIMIT_S = 10.0
"""Longest time of the processor that one text may take, however busy the machine is [s]."""

MEMORY = 6 << 30
"""Memory that the process may have [bytes]; a text that asks for more is a finding."""

WHOLE_DOMAIN = """
(define (domain depot) ; everything that a domain may hold
  (:requirements :adl :typing :constraints :action-costs)
  (:types truck crate - thing thing place - object depot - (either place thing))
  (:constants hub - place spare - (either truck crate))
  (:predicates (at ?t - thing ?p - place) (in ?c - (either crate truck) ?t - truck) (open) (9k ?x))
  (:functions (total-cost) - number (distance ?a ?b - place) - number)
  (:action drive
    :parameters (?t - truck ?a ?b - place)
    :precondition (and (at ?t ?a) (not (= ?a ?b)) (or (open) (imply (9k ?a) (9k ?b)))
      (exists (?c - crate) (in ?c ?t)))
    :effect (and (not (at ?t ?a)) (at ?t ?b) (increase (total-cost) (distance ?a ?b))
      (forall (?c - crate) (when (in ?c ?t) (and (at ?c ?b) (not (9k ?c)))))))
  (:action wait :effect (open))
  (:constraints (and (forall (?t - truck) (at-most-once (at ?t hub))) (always (not (9k hub))))))
"""

WHOLE_PROBLEM = """
(define (problem 4-0) (:domain depot) (:requirements :constraints)
  (:objects t1 t2 - truck c1 - crate p1 p2 - place both - (either truck place))
  (:init (at t1 hub) (at c1 p1) (in c1 t1) (not (open)) (= (total-cost) 0)
    (= (distance hub p1) 2.5))
  (:goal (and (at t1 p1) (forall (?x - (either truck crate)) (not (9k ?x)))))
  (:constraints (and (sometime (open)) (sometime-before (at t1 p1) (open))
    (sometime-after (open) (at t1 p2)) (at end (at t1 p1)) (within 5 (open))
    (always-within 2.5 (open) (at t1 p1)) (hold-during 1 3 (open)) (hold-after 4 (open))
    (forall (?t - truck ?p - place) (and (always (or (not (at ?t ?p)) (= ?p hub)))))))
  (:metric minimize (total-cost)))
"""

TIMED_DOMAIN = """
(define (domain errand) ; the rest: time, numbers, derived predicates, soft rules
  (:requirements :durative-actions :duration-inequalities :numeric-fluents :derived-predicates
    :preferences :conditional-effects :timed-initial-literals :constraints :typing)
  (:types robot place)
  (:constants dock - place)
  (:predicates (at ?r - robot ?p - place) (open ?p - place) (road ?a ?b - place)
    (joined ?a ?b - place) (busy ?r - robot))
  (:functions (battery ?r - robot) (length ?a ?b - place) (total-cost))
  (:derived (joined ?a ?b - place) (or (road ?a ?b)
    (exists (?c - place) (and (road ?a ?c) (joined ?c ?b)))))
  (:durative-action go :parameters (?r - robot ?a ?b - place)
    :duration (and (>= ?duration (/ (length ?a ?b) 2)) (<= ?duration 20))
    :condition (and (at start (at ?r ?a)) (at start (joined ?a ?b)) (over all (open ?b))
      (at end (>= (battery ?r) 1)))
    :effect (and (at start (not (at ?r ?a))) (at end (at ?r ?b))
      (at end (decrease (battery ?r) (* 0.5 ?duration)))
      (forall (?c - place) (when (at start (road ?a ?c)) (at start (busy ?r))))))
  (:durative-action charge :parameters (?r - robot) :duration (= ?duration 4)
    :condition (over all (at ?r dock))
    :effect (and (at start (scale-up (battery ?r) 1)) (at end (increase (battery ?r) 10))))
  (:action ring :parameters (?r - robot) :precondition (preference calm (not (busy ?r)))
    :effect (and (not (busy ?r)) (increase (total-cost) 2)))
  (:constraints (preference full (forall (?r - robot) (always (>= (battery ?r) 1))))))
"""

TIMED_PROBLEM = """
(define (problem errand-1) (:domain errand)
  (:objects r1 r2 - robot p1 p2 - place)
  (:init (at r1 dock) (at r2 p1) (road dock p1) (road p1 p2) (at 3 (open p2))
    (at 20.5 (not (open p2))) (= (battery r1) 3) (= (battery r2) 7.5) (= (length dock p2) 9)
    (= (length p1 p2) 4) (= (total-cost) 0))
  (:goal (and (at r1 p2) (at r2 p2) (preference quiet (not (busy r1)))))
  (:constraints (and (within 15 (at r2 p2)) (always-within 9.5 (busy r2) (at r2 p2))
    (hold-during 1 2.5 (at r1 dock)) (hold-after 30 (joined dock p2))
    (always (>= (battery r1) 0.5)) (preference (sometime-before (at r1 p2) (at r2 p2)))))
  (:metric minimize (+ (total-time) (* 3 (is-violated calm)) (is-violated quiet) (total-cost))))
"""

TIMED_PLAN = """0: (charge r1) [4]
3.001: (go r2 p1 p2) [2.000]
4.001: (go r1 dock p2) [4.5]
6: (ring r2) [0]
"""

PLANS = (
    TIMED_PLAN,
    '(drive t1 hub p1)\n(wait)\n; cost = 2 (unit cost)\n',
    '0.000: (DRIVE t1 hub p1) [0.001]\n0.002: (wait) [D:1.0; C:0.5]\n',
    'Here is the plan:\n```pddl\n1. (drive t1 hub p1)\n2. (wait)\n```\nDone.',
    '<think>\nno\n</think>\n{"plan": [\n "(drive t1 hub p1)",\n "(wait)"\n]}',
    '[0] (wait)\n[1] (drive t1 hub p1)\nstep 3: (wait)\n',
)

_VOCABULARY = """
( ) - ?x ?y and or not imply forall exists when = always sometime at-most-once sometime-before at
sometime-after within always-within hold-during hold-after end preference either object number
define domain problem :domain :objects :init :goal :constraints :types :predicates :constants
:functions :metric :action :parameters :precondition :effect :requirements :strips :fluents
increase assign decrease total-cost < >= + * / ?duration over all :derived :durative-action
:duration :condition minimize is-violated 0 1 -1 2.5 1e9 99999999999999999999999 b1 on clear ()
(and) (or) (open) (at t1 p1) (domain d) (problem q) ``` <think> </think> 1. 0: [1] {} ; # " ' , |
& ?t t1 hub place truck
"""
WORDS = _VOCABULARY.split()

BYTES: list[str] = [*map(chr, range(128)), *'\x85\u2028\u202e\u2713\u212a\ud800\ufeff']

_TOKENS = re.compile(r'[()]|[^\s()]+|\s+')


class TooSlow(Exception):
    """A call ran past the limit."""


def mutate(rng: random.Random, text: str, other: str) -> str:
    """A text with a few random changes, some of them with parts of another text."""
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        change = rng.choice([_tokens, _tokens, _tokens, _lists, _lists, _bytes, _slices])
        text = change(rng, text, other)[:2_000_000]
    return text


def _tokens(rng: random.Random, text: str, other: str) -> str:
    tokens = _TOKENS.findall(text) or ['']
    place = rng.randrange(len(tokens))
    match rng.randrange(5):
        case 0:
            del tokens[place]
        case 1:
            tokens.insert(place, f' {rng.choice(WORDS)} ')
        case 2:
            tokens[place] = rng.choice(WORDS)
        case 3:
            source = rng.randrange(len(tokens))
            tokens[place], tokens[source] = tokens[source], tokens[place]
        case _:
            tokens[place] = rng.choice(_TOKENS.findall(other) or [''])
    return ''.join(tokens)


def _lists(rng: random.Random, text: str, other: str) -> str:
    """Changes a whole list: removes it, repeats it, wraps it, or takes it from the other text."""
    spans = list(_spans(text))
    if not spans:
        return text
    first, last = rng.choice(spans)
    part = text[first:last]
    match rng.randrange(5):
        case 0:
            part = ''
        case 1:
            part = f'{part} ' * rng.choice([2, 30, 3000])
        case 2:
            head = rng.choice(['and', 'or', 'not', 'forall (?z)', 'exists (?z ?y)', 'always', ''])
            depth = rng.choice([1, 1, 5, 90, 400])
            part = f'({head} ' * depth + part + ')' * depth
        case 3:
            names = ' '.join(f'?v{i}' for i in range(rng.choice([1, 3, 40, 400])))
            part = f'(forall ({names}) {part})'
        case _:
            others = list(_spans(other))
            start, end = rng.choice(others) if others else (0, 0)
            part = other[start:end]
    return text[:first] + part + text[last:]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the lists of a text start and end."""
    stack = []
    for match in re.finditer('[()]', text):
        if match.group() == '(':
            stack.append(match.start())
        elif stack:
            yield stack.pop(), match.end()


def _bytes(rng: random.Random, text: str, other: str) -> str:
    place = rng.randrange(len(text) + 1)
    wide = rng.choice([0, 0, 1, 1, 5])
    count = rng.choice([0, 1, 1, 1, 100, 100_000])
    return text[:place] + rng.choice(BYTES) * count + text[place + wide :]


def _slices(rng: random.Random, text: str, other: str) -> str:
    first, last = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    match rng.randrange(5):
        case 0:
            return text[:first]
        case 1:
            return text[:first] + text[last:]
        case 2:
            return text[:last] + text[first:]
        case 3:
            return text.replace('\n', rng.choice(['\r\n', '\r', ' ', '\t']))
        case _:
            return text[:first] + other[first:last] + text[last:]


def check_domain(text: str) -> None:
    """Reads a domain, and what is written of it again."""
    domain = read_domain(text)
    again = read_domain(domain_text(domain, constraints=True))
    if again != domain:
        raise AssertionError('the domain does not read back the same')


def check_problem(text: str, domains: dict[str, Domain]) -> None:
    """Reads a problem, and what is written of it again."""
    name = problem_domain_name(text).text
    domain = domains.get(name, domains['depot'])
    problem = read_problem(text, domain, any_name=True)
    again = read_problem(problem_text(problem), domain)
    if again != problem:
        raise AssertionError('the problem does not read back the same')
    if name == 'errand':
        check_verdict(problem)


def check_task(text: str) -> None:
    """Judges a plan in a domain."""
    check_verdict(read_problem(TIMED_PROBLEM, read_domain(text)))


def check_verdict(problem: Problem) -> None:
    """Judges a plan with times, twice, and the value of its metric."""
    validator = Validator(problem)
    verdict = validator.verify(TIMED_PLAN)
    if validator.verify(TIMED_PLAN) != verdict:
        raise AssertionError('a second verdict is not the first one')
    if verdict.category is Category.UNKNOWN or not verdict.reason:
        raise AssertionError('there is no verdict')
    if verdict.ok:
        rank(problem, parse_plan(TIMED_PLAN, timed=bool(problem.domain.durative)))


@cache
def _problem() -> Problem:
    """The problem whose steps a plan may hold."""
    return read_problem(WHOLE_PROBLEM, read_domain(WHOLE_DOMAIN))


def check_plan(text: str) -> None:
    """Reads a plan strictly and leniently."""
    plan, note = extract_plan(text, _problem())
    if str(note).count('\n'):
        raise AssertionError('the note on a plan has several lines')
    if note.whole and parse_plan(text) != plan:
        raise AssertionError('the two ways to read a plan do not agree')
    timed = parse_plan(text, timed=True) if note.whole else plan
    if parse_plan(str(timed), timed=True) != timed:
        raise AssertionError('the plan with times does not read back the same')
    if parse_plan(str(plan)) != plan:
        raise AssertionError('the plan does not read back the same')


def check_message(text: str, error: SafegenError) -> None:
    """Looks for what must not be in a message that a terminal shows."""
    shown = error.message
    if isinstance(error, TextError):
        shown += excerpt(text, error)
    if isinstance(error, PddlError):
        shown += with_excerpts(error).message
    if not all(c.isprintable() or c == '\n' for c in shown):
        raise AssertionError(f'a message could steer a terminal: {shown!r}')
    if len(shown) > 30_000:
        raise AssertionError(f'a message has {len(shown):,} characters')


@contextmanager
def limited() -> Iterator[None]:
    """Raises `TooSlow` in the block when it takes longer than `LIMIT_S`."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise TooSlow

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def seeds() -> tuple[dict[str, Domain], dict[str, list[str]]]:
    """The domains by name, and the texts of each kind that are mutated."""
    examples = [
        p.read_text(encoding='utf-8') for p in sorted((ROOT / 'examples').glob('**/*.pddl'))
    ]
    problems = [text for text in examples if '(problem' in text]
    domain_texts = [
        WHOLE_DOMAIN,
        TIMED_DOMAIN,
        *(p.read_text(encoding='utf-8') for p in sorted(DOMAINS.glob('*/domain.pddl'))),
        *(text for text in examples if '(define (domain' in text),
    ]
    domains = {domain.name: domain for domain in map(read_domain, domain_texts)}
    return domains, {
        'domain': domain_texts,
        'problem': [WHOLE_PROBLEM, WHOLE_PROBLEM, TIMED_PROBLEM, TIMED_PROBLEM, *problems],
        'task': [TIMED_DOMAIN],
        'plan': list(PLANS),
    }


def outcome(check: Callable[[str], None], text: str) -> str:
    """Whether a text is read or refused; raises what nobody may see."""
    with limited():
        try:
            check(text)
        except SafegenError as error:
            check_message(text, error)
            return 'refused'
        return 'read'


class Findings:
    """What went wrong, one file for each kind.

    Args:
        folder: where the texts are saved.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.names: set[str] = set()

    def add(self, kind: str, text: str, error: Exception) -> None:
        """Keeps a text, unless one like it is there already."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        name = f'{kind}-{type(error).__name__}-{Path(place.filename).stem}-{place.lineno}'
        if name in self.names:
            return
        self.names.add(name)
        self._folder.mkdir(parents=True, exist_ok=True)
        saved = self._folder / f'{name}.txt'
        saved.write_text(text, encoding='utf-8', errors='surrogatepass')
        print(f'{saved}: {type(error).__name__}: {str(error)[:300]}', flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--minutes', type=float, default=10.0, help='how long')
    parser.add_argument('--seed', type=int, default=0, help='of the mutations')
    parser.add_argument('--out', type=Path, default=Path('fuzz-findings'), help='for findings')
    options = parser.parse_args(arguments)
    domains, texts = seeds()
    checks: dict[str, Callable[[str], None]] = {
        'domain': check_domain,
        'problem': lambda text: check_problem(text, domains),
        'task': check_task,
        'plan': check_plan,
    }
    rng = random.Random(options.seed)  # noqa: S311 (nothing secret)
    everything = [text for some in texts.values() for text in some]
    counts: Counter[str] = Counter()
    findings = Findings(options.out)
    slowest = 0.0
    end = time.monotonic() + options.minutes * 60
    while time.monotonic() < end:
        kind = rng.choice(list(checks))
        text = mutate(rng, rng.choice(texts[kind]), rng.choice(everything))
        started = time.process_time()
        try:
            counts[f'{kind} {outcome(checks[kind], text)}'] += 1
        except Exception as error:
            counts['findings'] += 1
            findings.add(kind, text, error)
        slowest = max(slowest, time.process_time() - started)
    for name, count in sorted(counts.items()):
        print(f'{name:16} {count:>9,}')
    print(f'slowest text     {slowest:>9.2f} s')
    print(f'seed {options.seed}, {options.minutes:g} minutes, {len(findings.names)} findings')
    return 1 if findings.names else 0


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.exit(main())

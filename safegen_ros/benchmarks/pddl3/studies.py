# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What each table and figure measures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from safegen_ros.benchmarks.comparison import ComparisonTable, Figures, Line, Tally, together
from safegen_ros.benchmarks.pddl3 import paper
from safegen_ros.benchmarks.pddl3.evaluate import Result
from safegen_ros.benchmarks.pddl3.loops import MORE, LoopOptions
from safegen_ros.benchmarks.pddl3.neighbours import count_rows, nearest
from safegen_ros.benchmarks.pddl3.paper import ALL, Beside
from safegen_ros.benchmarks.pddl3.problems import (
    GROUPS,
    Source,
    TestProblem,
    draw_unseen,
    load_source,
)
from safegen_ros.benchmarks.pddl3.study import Study, StudyOptions, StudyRecord
from safegen_ros.benchmarks.subjects import Subject, untrained
from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.files import file_digest
from safegen_ros.datasets.pddl3.mixed import ANY_GOAL, RULES
from safegen_ros.datasets.pddl3.recipe import DomainRecipe, Recipe, load_recipe
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import AtomFormula
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeError

SPLITS = {
    'test': 'new up to renaming',
    'test_family': 'held-out families',
    'test_renamed': 'new text',
}
"""What is new about the problems of a split."""

_MODES = {'ours, T 0.6': 'sampled', 'ours, greedy': 'greedy'}
_FORMS = ('pddl', 'english', 'json')  # in the order of table III
_Results = Mapping[str, Mapping[str, Result]]


def table2(subjects: Iterable[Subject], options: StudyOptions) -> ComparisonTable:
    """Table II: success and failures after every stage, by domain.

    Args:
        subjects: the models under the names of `subjects.STAGES`; one is done with before the next
            one is taken.
    """
    study = Study.of_split(StudyRecord(options))
    results = {subject.name: _modes(study, subject) for subject in subjects}
    return study.record.comparison(
        'table2', 'Stages of training by domain, beside table II of SafeGen-LLM',
        ('domain', 'stage', 'whose'), _lines(study, results, paper.table2()),
        study.record.differences('Qwen3-14B and Llama-3.1-8B, 14 and 8 billion, in 4 bits'),
    )  # fmt: skip


def figure4(subjects: Iterable[Subject], options: StudyOptions) -> ComparisonTable:
    """Figure 4: classes of errors in Blocksworld after every stage; arguments as of `table2`."""
    study = Study.of_split(StudyRecord(options), ('blocksworld',))
    results = {subject.name: _modes(study, subject) for subject in subjects}
    return study.record.comparison(
        'figure4', 'Errors in Blocksworld by stage, beside figure 4 of SafeGen-LLM',
        ('domain', 'stage', 'whose'), _lines(study, results, paper.figure4()),
        (
            *study.record.differences('Mistral-7B, 7 billion, in 4 bits'),
            "training: the paper's model for this figure saw Blocksworld only",
            'the text does not tell the shares that are left out',
        ),
    )  # fmt: skip


def table3(subject: Subject, options: StudyOptions) -> ComparisonTable:
    """Table III: success and failures in every format, by domain."""
    study = Study.of_split(StudyRecord(options))
    results = {form: _modes(study, subject, form) for form in _FORMS}
    return study.record.comparison(
        'table3', 'Formats by domain, beside table III of SafeGen-LLM',
        ('domain', 'format', 'whose'), _lines(study, results, paper.table3()),
        (
            *study.record.differences('Qwen3-14B, 14 billion, in 4 bits'),
            "training: the paper's model saw PDDL3 only; ours what the training.json in its "
            'folder lists under data.formats',
        ),
    )  # fmt: skip


def figure5(subject: Subject, options: StudyOptions) -> ComparisonTable:
    """Figure 5: success by domain."""
    study = Study.of_split(StudyRecord(options))
    results = {'single shot': _modes(study, subject)}
    return study.record.comparison(
        'figure5', 'Success by domain, beside figure 5 of SafeGen-LLM',
        ('domain', 'attempts', 'whose'), _lines(study, results, paper.figure5()),
        (
            *study.record.differences(
                'Qwen3-14B and Llama-3.1-8B, 14 and 8 billion, in 4 bits, and GPT-5 Nano, of '
                'unknown size and not fine-tuned'
            ),
            'GPT-5 Nano: the text does not tell its success in Spanner',
        ),
        plot='success',
    )  # fmt: skip


def heldout(subject: Subject, options: StudyOptions) -> ComparisonTable:
    """The three test splits: new problems, new constraint families, new texts."""
    record, lines = StudyRecord(options), []
    for split, meaning in SPLITS.items():
        modes = _modes(Study.of_split(record, split=split), subject)
        for whose, result in modes.items():
            by = result.by('family' if split == 'test_family' else 'domain')
            for name, tally in {ALL: result.tally(), **by}.items():
                lines.append(Line(meaning, name, whose, Figures.of(tally)))
    differences = [
        'new up to renaming: renaming objects makes no training problem of these; problems that '
        'differ in their constraints alone may be in training, as in the paper',
        'held-out families: their constraints are of kinds that training never saw',
        'new text: training problems of this dataset with other names and in another order; '
        'whether a model was trained on this dataset, the training.json in its folder tells',
        'the paper has no such splits',
    ]
    if record.words:
        differences.append(
            'this model is asked under canonical names, in which a new text of a problem is the '
            'same prompt: after training on this dataset, new text shows what is remembered'
        )
    return record.comparison(
        'heldout', 'Test splits by what is new about them', ('split', 'problems', 'whose'),
        together(lines), differences, plot='success',
    )  # fmt: skip


def kinds(
    subjects: Iterable[Subject], options: StudyOptions, form: str = 'pddl'
) -> ComparisonTable:
    """Several models by the number of rules, by size, and by what the goal asks for."""
    study, lines = Study.of_split(StudyRecord(options)), []
    places: dict[str, list[int]] = {ALL: [*range(len(study.problems))]}
    for place, problem in enumerate(study.problems):
        for kind in kinds_of(problem):
            places.setdefault(kind, []).append(place)
    for subject in subjects:
        for whose, result in _modes(study, subject, form).items():
            for kind in sorted(places):
                tally = Tally.of(result.verdicts[place].category for place in places[kind])
                lines.append(Line(kind, subject.name, whose, Figures.of(tally)))
    return study.record.comparison(
        'kinds', f'Problems by kind, in {form}', ('kind', 'model', 'whose'), together(lines),
        (
            'rules: constraint families of a problem; those of any goal have none to two of them',
            'sizes: of table VIII in all parameters, the smallest of a domain, or others',
            'goals: problems of any goal whose goal names the predicate',
        ),
        plot='success',
    )  # fmt: skip


def larger(
    subject: Subject,
    options: StudyOptions,
    count: int = 25,
    loop: LoopOptions | None = None,
    domains: Collection[str] = (),
) -> ComparisonTable:
    """Problems that are larger than those of training.

    Args:
        options: the dataset gives the families, and its recipe the sizes of training.
        loop: strategies that are measured, too, if there are any.
        domains: only these domains; empty for all.

    Raises:
        SafegenError: there are no larger sizes of a domain.
    """
    recipe = load_recipe(options.data / RECIPE)
    drawn = f'larger ones, drawn from seed {options.seed} with the families'
    source = replace(load_source(options.data, 'test'), split=drawn)
    problems = draw_larger(recipe, options.seed, count, larger_sizes(domains))
    study = Study(problems, source, StudyRecord(options))
    labels = {
        GROUPS['size'](p): (p.domain, f'{dict(p.size)[GROWING[p.domain]]} {GROWING[p.domain]}')
        for p in problems
    }
    lines = []
    for whose, result in _modes(study, subject).items():
        for size, tally in result.by('size').items():
            lines.append(Line(*labels[size], whose, Figures.of(tally)))
    shares: dict[tuple[str, str], list[str]] = {}
    if loop is not None:
        for strategy in loop.strategies:
            planned = study.plan(subject, strategy, loop)
            for size, label in labels.items():
                figures = planned.part('size', size).figures
                lines.append(Line(*label, f'ours, {strategy}', figures))
                shares.setdefault(label, []).append(f'{strategy} {figures.success:.0f} %')
    ranges = '; '.join(
        f'{name} ' + ', '.join(f'{low}-{high} {p}' for p, (low, high) in wanted.sizes.items())
        for name, wanted in recipe.domains.items()
    )
    return study.record.comparison(
        'larger', 'Larger problems', ('domain', 'size', 'whose'), together(lines),
        (
            f"sizes in this dataset's recipe: {ranges}",
            'sizes here: 5 locations for Ferry; 2 robots and 4 rooms for Grippers; 5 locations '
            'and a spanner more than nuts for Spanner',
            'families: those of the recipe that are not held out, in its proportions; a plan that '
            'ignores the constraints breaks them, though perhaps not every shortest one',
            'the paper has no figures of its models on larger problems than those of training',
            *(['lines with a strategy: the planning loop with the levels that it names alone; '
               'what has no words for so large a problem proposes no plan'] if loop else []),
            *(f'solved by strategy within {loop.time_budget_s:g} s, {domain}, {size}: '
              f'{", ".join(found)} of {count}'
              for (domain, size), found in shares.items() if loop),
        ),
        plot='success', more=MORE if loop else {},
    )  # fmt: skip


def unseen(
    subject: Subject, options: StudyOptions, count: int = 12, loop: LoopOptions | None = None
) -> ComparisonTable:
    """Domains that no lesson is about; the model reads them in its prompt.

    Args:
        count: problems of each domain.
        loop: strategies that are measured, too, if there are any.
    """
    problems = draw_unseen(options.seed, count)
    source = Source('made_up.yaml', '', options.seed, 'domains under held_out')
    study = Study(problems, source, StudyRecord(options))
    lines = _lines(study, {'single shot': _modes(study, subject)}, {})
    for strategy in loop.strategies if loop else ():
        planned = study.plan(subject, strategy, loop or LoopOptions())
        parts = {each: planned.part('domain', each) for each in planned.by('domain')}
        for name, part in {**parts, ALL: planned}.items():
            lines.append(Line(name, strategy, 'ours', part.figures))
    return study.record.comparison(
        'unseen', 'Domains that were never trained on', ('domain', 'strategy', 'whose'),
        together(lines),
        (
            'domains: elevator, logistics, satellite, tyre and tray, smaller than those of the '
            'planning competitions of these names; random goals, and up to four rules of any '
            'operator',
            'beam: steps that the domain and the rules forbid are never proposed, so that a model '
            'that knows nothing solves small problems, too',
            'the paper has no such figures',
        ),
        plot='success', more=MORE if loop else {},
    )  # fmt: skip


def controls(
    subject: Subject, model_dir: Path, options: StudyOptions, train: Path
) -> ComparisonTable:
    """What the figures would be without training, and without understanding."""
    study = Study.of_split(StudyRecord(options))
    study.record.training = {'rows': count_rows(train), 'sha256': file_digest(train)}
    copies = nearest(study.problems, train, options.notify)
    copied = study.judge('copied', [copy.plan for copy in copies])
    with untrained(model_dir, options.seed, options.device) as fresh:
        drawn = study.run(fresh, 'untrained')
    results = {
        'model': _modes(study, subject),
        'untrained': {'ours, T 0.6': drawn},
        'copied plan': {'control': copied},
    }
    mean = sum(copy.similarity for copy in copies) / len(copies)
    same = sum(copy.similarity == 1 for copy in copies)
    return study.record.comparison(
        'controls', 'Controls', ('domain', 'case', 'whose'), _lines(study, results, {}),
        (
            'untrained: freshly drawn weights, all else is the same',
            'copied plan: that of the most similar training row of the domain by the Jaccard '
            'index of runs of one to three words, in PDDL under canonical names; the index is '
            f'{mean:.2f} on average, and for {same} of {len(copies)} problems it is 1',
            'the paper has no such controls',
        ),
        plot='success',
    )  # fmt: skip


def _modes(study: Study, subject: Subject, form: str = 'pddl') -> dict[str, Result]:
    """The result of each way to draw an answer, by its name in tables."""
    return {whose: study.run(subject, mode, form) for whose, mode in _MODES.items()}


def _lines(study: Study, results: _Results, beside: Beside) -> list[Line]:
    """Our figures for every domain and case, each followed by those of others."""
    domains = list(dict.fromkeys(p.domain for p in study.problems))
    found = []
    for group in [*domains, ALL] if len(domains) > 1 else domains:
        others = beside if group != ALL or {*domains} == {*paper.DOMAINS} else {}
        for case, modes in results.items():
            for whose, result in modes.items():
                tally = result.tally() if group == ALL else result.by('domain')[group]
                found.append(Line(group, case, whose, Figures.of(tally)))
            for whose, figures in others.get((group, case), ()):
                found.append(Line(group, case, whose, figures))
    return found


LARGER: Mapping[str, tuple[Mapping[str, int], ...]] = {
    'blocksworld': tuple({'blocks': n} for n in (7, 8, 9, 10, 12, 20, 30)),
    'ferry': tuple({'locations': 5, 'cars': n} for n in range(5, 9)),
    'grippers': tuple({'robots': 2, 'rooms': 4, 'objects': n} for n in range(5, 9)),
    'spanner': tuple({'spanners': n + 1, 'nuts': n, 'locations': 5} for n in range(4, 8)),
}
"""Sizes beyond table VIII of SafeGen-LLM and beyond the recipe of the shipped dataset."""

GROWING = {'blocksworld': 'blocks', 'ferry': 'cars', 'grippers': 'objects', 'spanner': 'nuts'}
"""The parameter by which they grow."""

_ATTEMPTS = 100  # to draw a problem of a family that fits its size


def kinds_of(problem: TestProblem) -> Iterator[str]:
    """What a problem counts as: by its rules, by its size, and by what its goal asks for."""
    yield 'rules: ' + (problem.family if problem.family in RULES else 'one-rule')
    growing = GROWING.get(problem.domain, '')
    least = {p.name: p.least for p in kits()[problem.domain].parameters}
    smallest = growing and dict(problem.size)[growing] == least[growing]
    yield 'sizes: ' + (f'{least[growing]} {growing}' if smallest else GROUPS['paper_size'](problem))
    if problem.family == ANY_GOAL:
        facts = (goal for goal in problem.problem.goal_conjuncts() if isinstance(goal, AtomFormula))
        yield from {f'goals: {problem.domain} {fact.predicate}' for fact in facts}


Sizes = Mapping[str, Sequence[Mapping[str, int]]]
"""Of every domain."""


def larger_sizes(domains: Collection[str] = ()) -> Sizes:
    """Those of `LARGER` for some domains, or for all.

    Raises:
        SafegenError: there are none for a domain.
    """
    unknown = [name for name in domains if name not in LARGER]
    if unknown:
        raise SafegenError(
            f'there are no larger sizes of domain {unknown[0][:40]!a}: take one of '
            f'{" ".join(LARGER)}',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    return {name: sizes for name, sizes in LARGER.items() if not domains or name in domains}


def draw_larger(recipe: Recipe, seed: int, count: int, sizes: Sizes = LARGER) -> list[TestProblem]:
    """Problems of larger sizes, with the constraint families of a recipe in its proportions.

    Held-out families are left out, so that nothing but the size is new. The generators prove that
    a problem can be solved and that a plan which ignores its constraints breaks them; a shortest
    plan is not looked for.

    Args:
        recipe: of the dataset whose families are taken.
        seed: the same arguments give the same problems.
        sizes: the sizes of every domain; domains that the recipe lacks are left out.

    Raises:
        SizeError: hardly any family of the recipe fits a size.
    """
    found = []
    for domain, wanted in recipe.domains.items():
        for size in sizes.get(domain, ()):
            values = ' '.join(f'{value} {name}' for name, value in size.items())
            rng = Random(f'larger {domain} {values} {seed}')  # noqa: S311
            found += [_larger(rng, kits()[domain], wanted, size) for _ in range(count)]
    return found


def _larger(
    rng: Random, kit: DomainKit, wanted: DomainRecipe, size: Mapping[str, int]
) -> TestProblem:
    weights = {n: w for n, w in wanted.weights.items() if n not in wanted.held_out}
    for _ in range(_ATTEMPTS):
        family = rng.choices(list(weights), list(weights.values()))[0]
        try:
            made = kit.problem(rng.getrandbits(63), size, family)
        except SizeError:
            continue
        return TestProblem(
            kit.name, family, kit.families[family].operators, tuple(made.size.items()),
            kit.is_paper_size(made.size), '', 0, made.problem,
        )  # fmt: skip
    raise SizeError(
        f'{kit.name}: none of {_ATTEMPTS} draws from the families of the recipe fits '
        f'{dict(size)}: take other sizes'
    )

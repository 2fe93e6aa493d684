# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures of this repository's structure, each with its limit and its aim.

`.venv/bin/python scripts/house.py` prints the table and what lies behind it: the cycles, the
`isinstance` calls, the class names that are used twice and the code that is repeated. `--json`
prints the same for machines; `--run` also counts the files that a run enters, by run_files.py,
which takes a minute. The exit status is 1 where a figure is above its limit.
test/test_house.py asserts the limits.

The figures come from the syntax trees of the sources. Imports below `TYPE_CHECKING` and in
functions count; a module that is imported by its name in a string is not seen.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'safegen_ros'
TASKS = f'{PACKAGE}.tasks'
LONG = 400
"""Lines above which a source file is long."""
BLOCK = 8
"""Lines of code from which a repetition counts."""


class Limit(NamedTuple):
    """The most that a figure may be, and its aim where there is one."""

    most: float
    aim: float | None = None


LIMITS = {
    'source files': Limit(548, 400),
    'source lines': Limit(114_450, 76_000),
    'test files': Limit(265),
    'test lines': Limit(60_280, 42_000),
    'median source file': Limit(200, 200),
    'largest source file': Limit(500),
    'source files over 400 lines': Limit(8),
    'files in import cycles': Limit(0, 0),
    'packages in import cycles': Limit(0, 0),
    'isinstance on a world outside tasks': Limit(0, 0),
    'modules imported by the planner node': Limit(144, 170),
    'class names used twice': Limit(0, 0),
    'repeated blocks of code': Limit(4),
    'MB of tracked models': Limit(23, 30),
    'files entered by one run': Limit(127, 70),
}
"""A ratchet: lower the limit when the figure falls; never raise it. Only the median has room up to
its aim, because a merge of small files raises it."""

Graph = dict[str, set[str]]
"""What each node imports."""


@dataclass(frozen=True)
class Report:
    """The figures, and what lies behind them.

    Attributes:
        figures: by the names of `LIMITS`; None where one was not measured.
        details: lines for a reader, by the name of their figure.
    """

    figures: dict[str, float | None]
    details: dict[str, list[str]]

    def above(self) -> list[str]:
        """The figures above their limits."""
        known = {name: value for name, value in self.figures.items() if value is not None}
        return [name for name, value in known.items() if value > LIMITS[name].most]


class Source:
    """A module of the package: its tree, its imports, and the names that they bind."""

    def __init__(self, path: Path) -> None:
        parts = path.relative_to(ROOT).with_suffix('').parts
        self.name = '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
        self.path = path
        text = path.read_text(encoding='utf-8')
        self.lines = text.count('\n')
        self.tree = ast.parse(text, str(path))
        self.nodes = list(ast.walk(self.tree))
        self.code = list(_code(text, self.tree))
        self.imported: set[str] = set()
        self.bound: dict[str, str] = {}
        base = parts[:-1]
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.imported.add(alias.name)
                    first = alias.name.partition('.')[0]
                    self.bound[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom):
                above = base[: len(base) + 1 - node.level] if node.level else ()
                module = '.'.join((*above, *([node.module] if node.module else [])))
                for alias in node.names:
                    self.imported.add(f'{module}.{alias.name}')
                    self.bound[alias.asname or alias.name] = f'{module}.{alias.name}'

    def resolve(self, node: ast.AST) -> str:
        """The dotted name that a name or an attribute stands for; empty for anything else."""
        if isinstance(node, ast.Name):
            return self.bound.get(node.id, f'{self.name}.{node.id}')
        if isinstance(node, ast.Attribute) and (owner := self.resolve(node.value)):
            return f'{owner}.{node.attr}'
        return ''


def _code(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The lines of a module without blank ones, comments and imports, each with its number."""
    imports = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line and not line.startswith('#') and number not in imports:
            yield number, line


def import_graph(sources: Sequence[Source]) -> Graph:
    """Which modules each module imports, by dotted names."""
    known = {each.name for each in sources}
    graph: Graph = {}
    for each in sources:
        # Of `from a import b`, b is a module or a name in the module a.
        found = {name if name in known else name.rpartition('.')[0] for name in each.imported}
        graph[each.name] = (found & known) - {each.name}
    return graph


def package_graphs(graph: Graph) -> list[Graph]:
    """For each package, which of the modules and packages in it import each other."""
    graphs: dict[str, Graph] = defaultdict(lambda: defaultdict(set))
    for user in graph:
        for used in graph[user]:
            a, b = user.split('.'), used.split('.')
            same = next((i for i in range(min(len(a), len(b))) if a[i] != b[i]), 0)
            if same:  # else one is a package with the other in it
                graphs['.'.join(a[:same])]['.'.join(a[: same + 1])].add('.'.join(b[: same + 1]))
    return list(graphs.values())


def cycles(graph: Graph) -> list[list[str]]:
    """The groups of nodes that reach each other; each as lines of a node and its edges inside."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = list(graph[start])
        while left:
            if (node := left.pop()) not in seen:
                seen.add(node)
                left.extend(graph.get(node, ()))
        return seen

    reach = {node: reached(node) for node in graph}
    groups = {frozenset(n for n in reach[m] if m in reach.get(n, ())) for m in graph}
    return [
        [f'{node} -> {" ".join(sorted(graph[node] & group))}' for node in sorted(group)]
        for group in sorted(groups, key=sorted)
        if group
    ]


def package_cycles(graph: Graph, packages: set[str]) -> list[list[str]]:
    """The cycles with a package in them; those of modules alone are cycles among files."""
    found = [group for each in package_graphs(graph) for group in cycles(each)]
    return [group for group in found if any(line.split()[0] in packages for line in group)]


def world_classes(sources: Sequence[Source]) -> set[str]:
    """Dotted names of the classes in tasks that are a task, a goal, a world or a cell."""
    bases = {
        f'{each.name}.{node.name}': [each.resolve(base) for base in node.bases]
        for each in sources
        if f'{each.name}.'.startswith(f'{TASKS}.')
        for node in each.tree.body
        if isinstance(node, ast.ClassDef)
    }

    def is_world(name: str) -> bool:
        named = name.endswith(('Task', 'Goal', 'World', 'Cell'))
        return name in bases and (named or any(map(is_world, bases[name])))

    return set(filter(is_world, bases))


def world_checks(sources: Sequence[Source]) -> list[str]:
    """Places outside tasks that ask for the class of a world."""
    worlds = world_classes(sources)
    places = []
    for each in sources:
        if f'{each.name}.'.startswith(f'{TASKS}.'):
            continue
        for node in each.nodes:
            if isinstance(node, ast.MatchClass):
                asked = node.cls
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ('isinstance', 'issubclass')
            ):
                asked = node.args[1]
            else:
                continue
            names = {each.resolve(part) for part in ast.walk(asked)} & worlds
            place = f'{each.path.relative_to(ROOT)}:{asked.lineno}'
            places += [f'{place}: {name.removeprefix(f"{TASKS}.")}' for name in sorted(names)]
    return places


def repeated_classes(sources: Sequence[Source]) -> list[str]:
    """Names of public classes that several modules define, each with the modules.

    A class that adds to a class of the same name is not a second thing: `api.Problem` is a
    `pddl.model.Problem`.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for each in sources:
        for node in each.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith('_'):
                bases = {each.resolve(base).rpartition('.')[2] for base in node.bases}
                if node.name not in bases:
                    found[node.name].append(each.name.removeprefix(f'{PACKAGE}.'))
    return [f'{name}: {" ".join(found[name])}' for name in sorted(found) if len(found[name]) > 1]


def repeated_blocks(sources: Sequence[Source]) -> list[str]:
    """Where runs of at least `BLOCK` equal lines of code begin, each with its places."""
    found: dict[tuple[str, ...], list[tuple[Path, int, int]]] = defaultdict(list)
    for each in sources:
        for at in range(len(each.code) - BLOCK + 1):
            lines = each.code[at : at + BLOCK]
            place = (each.path.relative_to(ROOT), at, lines[0][0])
            found[tuple(line for _, line in lines)].append(place)
    groups = [places for places in found.values() if len(places) > 1]
    known = {tuple((path, at) for path, at, _ in places) for places in groups}
    return [
        ' '.join(f'{path}:{line}' for path, _, line in places)
        for places in groups
        if tuple((path, at - 1) for path, at, _ in places) not in known  # not within a longer one
    ]


def planner_modules() -> int | None:
    """How many modules of the package the planner node imports; None without rclpy."""
    if importlib.util.find_spec('rclpy') is None:
        return None
    script = (
        f'import sys, {PACKAGE}.nodes.planner\n'
        f'print(sum(name.split(".")[0] == "{PACKAGE}" for name in sys.modules))'
    )
    command = [sys.executable, '-c', script]
    return int(subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout)


def models_mb() -> float | None:
    """Size of the files of models/ that git tracks [MB]; None outside a checkout of git.

    Adapters of a pretrained model come on top.
    """
    git = shutil.which('git')
    if git is None or not (ROOT / '.git').exists():
        return None
    command = [git, 'ls-files', '-z', 'models']
    names = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    paths = [
        ROOT / n for n in names.split('\0') if n and not n.endswith('/adapter_model.safetensors')
    ]
    return round(sum(path.stat().st_size for path in paths if path.is_file()) / 1e6, 1)


def files_of_a_run() -> list[str]:
    """What scripts/run_files.py prints; the last line has the number of files."""
    command = [sys.executable, str(ROOT / 'scripts' / 'run_files.py')]
    output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return output.splitlines()


def measure(planner: bool = True, run: bool = False) -> Report:
    """The figures of the repository.

    Args:
        planner: whether to import the planner node in another process, which takes seconds.
        run: whether to trace a run.
    """
    entered = files_of_a_run() if run else []
    sources = [Source(path) for path in sorted((ROOT / PACKAGE).rglob('*.py'))]
    tests = sorted((ROOT / 'test').rglob('*.py'))
    graph = import_graph(sources)
    in_files = cycles(graph)
    packages = {each.name for each in sources if each.path.name == '__init__.py'}
    in_packages = package_cycles(graph, packages)
    checks, repeated = world_checks(sources), repeated_classes(sources)
    blocks = repeated_blocks(sources)
    long = sorted((each for each in sources if each.lines > LONG), key=lambda each: -each.lines)
    values = (
        len(sources), sum(each.lines for each in sources),
        len(tests), sum(path.read_text(encoding='utf-8').count('\n') for path in tests),
        median(each.lines for each in sources), max(each.lines for each in sources), len(long),
        sum(map(len, in_files)), sum(map(len, in_packages)), len(checks),
        planner_modules() if planner else None, len(repeated), len(blocks), models_mb(),
        int(entered[-1].split()[-2]) if run else None,
    )  # fmt: skip
    details = {
        'source files over 400 lines': [f'{e.path.relative_to(ROOT)}: {e.lines}' for e in long],
        'files in import cycles': _separated(in_files),
        'packages in import cycles': _separated(in_packages),
        'isinstance on a world outside tasks': checks,
        'class names used twice': repeated,
        'repeated blocks of code': blocks,
        'files entered by one run': entered,
    }
    return Report(dict(zip(LIMITS, values, strict=True)), details)


def _separated(cycles: Sequence[Sequence[str]]) -> list[str]:
    return [line for group in cycles for line in ('a cycle:', *(f'  {each}' for each in group))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument('--run', action='store_true', help='count the files that a run enters')
    asked = parser.parse_args(arguments)
    report = measure(run=asked.run)
    above = report.above()
    if asked.json:
        rows = {
            name: {'value': value, 'limit': LIMITS[name].most, 'aim': LIMITS[name].aim}
            for name, value in report.figures.items()
        }
        print(json.dumps({'figures': rows, 'details': report.details, 'above': above}, indent=2))
        return int(bool(above))
    print(f'{"figure":<38} {"today":>9} {"limit":>9} {"aim":>9}')
    for name, value in report.figures.items():
        cells = (value, *LIMITS[name])
        row = ' '.join(f'{"-" if cell is None else f"{cell:,}":>9}' for cell in cells)
        print(f'{name:<38} {row}{"  above its limit" if name in above else ""}')
    if report.figures['modules imported by the planner node'] is None:
        print('rclpy is not installed: the imports of the planner node were not counted')
    for name, lines in report.details.items():
        if report.figures[name] is not None:
            print(f'\n{name}: {report.figures[name]}', *lines, sep='\n  ')
    return int(bool(above))


if __name__ == '__main__':
    sys.exit(main())

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lock: complete for every supported Python, hashed, and free of CUDA and of places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / 'requirements'
LOCK = (REQUIREMENTS / 'lock.txt').read_text(encoding='utf-8')
DOCS = (REQUIREMENTS / 'docs-lock.txt').read_text(encoding='utf-8')  # not of the product
PYTHONS = ('3.10', '3.11', '3.12', '3.13')
# Every *.in but torch.in, whose package index entry asks for CUDA, and docs.in.
INPUTS = sorted(path for path in REQUIREMENTS.glob('*.in') if path.stem not in ('torch', 'docs'))


def entries(text: str) -> Iterator[Requirement]:
    for line in text.splitlines():
        line = line.split(' \\')[0].strip()
        if line and not line.startswith(('#', '--hash')):
            yield Requirement(line)


def applies(requirement: Requirement, python: str) -> bool:
    environment = {
        'python_version': python, 'python_full_version': f'{python}.9',
        'implementation_name': 'cpython', 'platform_python_implementation': 'CPython',
        'sys_platform': 'linux', 'platform_system': 'Linux', 'platform_machine': 'x86_64',
        'os_name': 'posix',
    }  # fmt: skip
    return requirement.marker is None or requirement.marker.evaluate(environment)


def direct() -> list[Requirement]:
    return [entry for path in INPUTS for entry in entries(path.read_text(encoding='utf-8'))]


@pytest.mark.parametrize('python', PYTHONS)
def test_every_direct_requirement_is_locked_once(python: str) -> None:
    locked: dict[str, list[str]] = {}
    for entry in entries(LOCK):
        if applies(entry, python):
            (specifier,) = entry.specifier
            assert specifier.operator == '=='
            locked.setdefault(canonicalize_name(entry.name), []).append(specifier.version)
    assert {name: found for name, found in locked.items() if len(found) > 1} == {}
    for requirement in direct():
        if applies(requirement, python):
            (version,) = locked[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version), f'{requirement}: locked {version}'


def test_docs_take_the_versions_of_the_product() -> None:
    ours = {canonicalize_name(e.name): e.specifier for e in entries(LOCK) if applies(e, '3.11')}
    theirs = {canonicalize_name(e.name): e.specifier for e in entries(DOCS)}
    wanted = entries((REQUIREMENTS / 'docs.in').read_text(encoding='utf-8'))
    assert {canonicalize_name(entry.name) for entry in wanted} <= theirs.keys()
    assert [name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]] == []


def test_no_gpu_package_and_no_torch() -> None:
    names = {canonicalize_name(entry.name) for entry in entries(LOCK)}
    assert not [name for name in names if re.match(r'nvidia|cuda|triton|torch|pytorch', name)]


@pytest.mark.parametrize('lock', [LOCK, DOCS])
def test_no_place_of_any_machine(lock: str) -> None:
    places = [line for line in lock.splitlines() if not line.lstrip().startswith('#   -c ')]
    assert not re.search(r'://|index-url|find-links| @ |(?<![\w.-])/\w', '\n'.join(places))


@pytest.mark.parametrize('lock', [LOCK, DOCS])
def test_every_entry_is_hashed(lock: str) -> None:
    blocks = re.findall(r'^[a-z0-9].*?(?=^[a-z0-9]|\Z)', lock, re.MULTILINE | re.DOTALL)
    assert len(blocks) == len(list(entries(lock)))
    assert [block.split()[0] for block in blocks if '--hash=sha256:' not in block] == []


def test_torch_stands_alone_with_its_dependencies_in_the_lock() -> None:
    (torch,) = entries((REQUIREMENTS / 'torch.in').read_text(encoding='utf-8'))
    assert str(torch).startswith('torch==')
    from importlib.metadata import requires

    locked = {canonicalize_name(entry.name) for entry in entries(LOCK)}
    needed = [Requirement(text) for text in requires('torch') or []]
    needed = [entry for entry in needed if not entry.marker or entry.marker.evaluate({'extra': ''})]
    assert needed
    missing = {canonicalize_name(entry.name) for entry in needed} - locked
    assert not [name for name in missing if not re.match(r'nvidia|cuda|triton', name)]


def extras() -> dict[str, list[str]]:
    tree = ast.parse((ROOT / 'setup.py').read_text(encoding='utf-8'))
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == 'EXTRAS':
            found |= ast.literal_eval(node.value)
        if isinstance(node, ast.keyword) and node.arg == 'install_requires':
            found['base'] = ast.literal_eval(node.value)
    return found


def names_in(*stems: str) -> set[str]:
    return {
        canonicalize_name(entry.name)
        for stem in stems
        for entry in entries((REQUIREMENTS / f'{stem}.in').read_text(encoding='utf-8'))
    }


def test_extras_of_setup_py_mirror_the_requirements() -> None:
    written = {
        extra: {canonicalize_name(Requirement(text).name) for text in texts}
        for extra, texts in extras().items()
    }
    assert written['base'] - {'setuptools'} == names_in('base')
    assert written['proof'] == names_in('proof')
    assert written['sim'] == names_in('sim')
    assert written['llm'] == names_in('llm', 'torch')
    for extra in ('arm', 'record', 'train', 'cluster', 'plots', 'planetarium', 'console'):
        assert written[extra] == names_in(extra)
    tools = {name for name in names_in('dev') if not name.startswith('colcon-')}
    assert written['test'] | written['dev'] == tools


def test_safegen_msgs_is_built_with_the_locked_versions() -> None:
    text = (ROOT / 'safegen_msgs' / 'pyproject.toml').read_text(encoding='utf-8')
    pinned = {Requirement(found) for found in re.findall(r'"([a-z0-9-]+==[\d.]+)"', text)}
    assert len(pinned) > 10
    locked = {f'{entry.name}{entry.specifier}' for entry in entries(LOCK)}
    assert {str(entry) for entry in pinned} <= locked

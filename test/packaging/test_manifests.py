# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""package.xml, setup.py and the other manifests say the same, and name what the code imports."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib import metadata
from pathlib import Path

import pytest
from catkin_pkg.package import Package, parse_package

import safegen_ros
from safegen_ros.cli.failures import MODULES, missing_part

ROOT = Path(__file__).resolve().parents[2]
ROSDEP = {
    'cryptography': 'python3-cryptography', 'gpiozero': 'python3-gpiozero',
    'jinja2': 'python3-jinja2', 'numpy': 'python3-numpy', 'paramiko': 'python3-paramiko',
    'PIL': 'python3-pil', 'rich': 'python3-rich', 'serial': 'python3-serial',
    'typer': 'python3-typer', 'yaml': 'python3-yaml',
}  # fmt: skip


def imports_of(path: Path) -> set[str]:
    """Top-level names that a file imports, at any depth in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split('.')[0])
    return names


def imports_of_the_package(*more: Path) -> set[str]:
    """What safegen_ros and other folders import of other packages."""
    paths = [path for folder in (ROOT / 'safegen_ros', *more) for path in folder.rglob('*.py')]
    # A new domain starts from the template.
    used = set().union(*(imports_of(path) for path in paths if '_template' not in path.parts))
    return used - set(sys.stdlib_module_names) - {'safegen_ros'}


def package(folder: str) -> Package:
    warnings: list[str] = []
    parsed = parse_package(ROOT / folder, warnings=warnings)
    parsed.validate(warnings=warnings)
    assert warnings == []
    return parsed


@pytest.mark.parametrize('folder', ['.', 'safegen_msgs', 'examples/tower_client'])
def test_package_xml_is_format_3_and_valid(folder: str) -> None:
    tree = ElementTree.parse(ROOT / folder / 'package.xml')
    assert tree.getroot().get('format') == '3'
    assert package(folder).licenses == ['Apache-2.0']


def test_safegen_msgs_is_an_interface_package() -> None:
    groups = [group.name for group in package('safegen_msgs').member_of_groups]
    assert groups == ['rosidl_interface_packages']


def test_safegen_msgs_depends_on_what_its_files_use() -> None:
    used = set()
    for path in (ROOT / 'safegen_msgs').glob('*/*.*'):
        used |= set(re.findall(r'^(\w+)/\w+', path.read_text(encoding='utf-8'), re.MULTILINE))
    declared = {dependency.name for dependency in package('safegen_msgs').exec_depends}
    assert {'builtin_interfaces', 'geometry_msgs', 'std_msgs', 'unique_identifier_msgs'} == used
    assert used | {'action_msgs', 'rosidl_default_runtime'} == declared


@pytest.mark.nightly
def test_package_xml_names_every_import() -> None:
    declared = {dependency.name for dependency in package('.').exec_depends}
    from_pip = {name for names in MODULES.values() for name in names.split()} - set(ROSDEP)
    used = imports_of_the_package(ROOT / 'launch') - from_pip
    assert {ROSDEP.get(name, name) for name in used} - declared == set()


@pytest.mark.nightly
def test_a_module_that_is_missing_is_answered_with_its_extra() -> None:
    known = set(metadata.metadata('safegen_ros').get_all('Provides-Extra') or ())
    assert set(MODULES) <= known
    base = {'cryptography', 'jinja2', 'numpy', 'rich', 'typer', 'yaml'}
    for name in imports_of_the_package() - base:
        assert missing_part(ModuleNotFoundError(name=f'{name}.part')), name


def test_the_devcontainer_is_made_of_what_there_is() -> None:
    folder = ROOT / '.devcontainer'
    config = json.loads((folder / 'devcontainer.json').read_text())
    known = {'name', 'build', 'remoteUser', 'runArgs', 'postCreateCommand', 'customizations'}
    assert set(config) <= known, 'look up what the specification takes, and add it'
    dockerfile = (folder / config['build']['dockerfile']).resolve()
    assert (dockerfile, (folder / config['build']['context']).resolve()) == (
        ROOT / 'Dockerfile',
        ROOT,
    )
    assert re.search(rf'\buseradd .* {config["remoteUser"]}$', dockerfile.read_text(), re.M)
    maker, target = config['postCreateCommand'].split()
    assert maker == 'make'
    assert re.search(rf'^{target}:', (ROOT / 'Makefile').read_text(), re.M)
    editor = config['customizations']['vscode']
    assert all(re.fullmatch(r'[\w-]+\.[\w-]+', each) for each in editor['extensions'])


def test_the_example_needs_nothing_but_what_its_package_xml_names() -> None:
    folder = 'examples/tower_client'
    used = set()
    for path in (ROOT / folder).rglob('*.py'):
        used |= imports_of(path)
    declared = {dependency.name for dependency in package(folder).exec_depends}
    assert used - set(sys.stdlib_module_names) - {'setuptools'} == declared


def test_all_versions_are_one() -> None:
    versions = {
        'safegen_ros': package('.').version,
        'safegen_msgs': package('safegen_msgs').version,
        'python': safegen_ros.__version__,
    }
    for name in ('setup.py', 'safegen_msgs/pyproject.toml'):
        found = re.search(r"""\bversion ?= ?['"]([\d.]+)['"]""", (ROOT / name).read_text())
        assert found is not None, name
        versions[name] = found[1]
    assert len(set(versions.values())) == 1, versions


@pytest.mark.parametrize('folder', ['safegen_ros', 'test', 'scripts', 'launch', 'examples'])
def test_every_python_file_names_its_license(folder: str) -> None:
    header = '# Copyright 2026 The safegen_ros maintainers\n# SPDX-License-Identifier: Apache-2.0\n'
    files = sorted((ROOT / folder).rglob('*.py'))
    assert files
    assert [
        path.relative_to(ROOT).as_posix()
        for path in files
        if not path.read_text(encoding='utf-8').startswith(header)
    ] == []


CORE = ('errors', 'verdict', 'pddl', 'verify', 'search', 'tasks', 'planning', 'api',
        'datasets')  # fmt: skip
BLOCKED = ('rclpy', 'torch', 'mujoco', 'transformers', 'serial', 'safegen_msgs')

SCRIPT = """
import importlib, json, pkgutil, sys

root, top, blocked = sys.argv[1], sys.argv[2], set(sys.argv[3:])

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in blocked:
            raise ImportError('blocked: ' + name)
        return None

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, root)
module = importlib.import_module('safegen_ros.' + top)
names = [module.__name__]
if hasattr(module, '__path__'):
    def stop(name):
        raise ImportError(name)
    for info in pkgutil.walk_packages(module.__path__, module.__name__ + '.', onerror=stop):
        importlib.import_module(info.name)
        names.append(info.name)
print(json.dumps(names))
"""


def run(top: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-c', SCRIPT, str(ROOT), top, *blocked],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize('top', CORE)
def test_core_imports_without_heavy_packages(top: str) -> None:
    result = run(top, *BLOCKED)
    assert result.returncode == 0, result.stderr
    imported = json.loads(result.stdout.splitlines()[-1])
    files = [ROOT / 'safegen_ros' / f'{top}.py', *(ROOT / 'safegen_ros' / top).rglob('*.py')]
    assert len(imported) == len([path for path in files if path.is_file()])


def test_the_blocker_blocks() -> None:
    result = run('nodes', *BLOCKED)
    assert result.returncode != 0
    assert 'blocked: ' in result.stderr

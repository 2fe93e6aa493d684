# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The launch files start what `safegen up` starts: both have it from the bring-up table."""

from __future__ import annotations

import importlib
import runpy
import sys
import types

import pytest

from safegen_ros.bringup.profiles import PROFILES, NodeSpec
from safegen_ros.bringup.table import node_specs
from safegen_ros.errors import BringupError
from safegen_ros.paths import share_dir

LAUNCH_FILES = share_dir() / 'launch'


class Recorded:
    """Stands for a class of launch: keeps what it was made with."""

    def __init__(self, *args, **kwargs):
        self.args = args
        self.kwargs = kwargs


class Configuration(Recorded):
    def perform(self, context):
        return context.launch_configurations[self.args[0]]


def context_of(*argv, **values):
    return types.SimpleNamespace(launch_configurations=values, argv=argv)


@pytest.fixture
def launching(monkeypatch):
    """The adapter for launch, with recorders in place of launch and launch_ros."""
    names = {
        'launch': ('LaunchContext', 'LaunchDescription'),
        'launch.actions': ('DeclareLaunchArgument', 'OpaqueFunction', 'Shutdown'),
        'launch.substitutions': ('LaunchConfiguration',),
        'launch_ros': (),
        'launch_ros.actions': ('Node',),
    }
    for module, classes in names.items():
        fake = types.ModuleType(module)
        for name in classes:
            base = Configuration if name == 'LaunchConfiguration' else Recorded
            setattr(fake, name, type(name, (base,), {}))
        monkeypatch.setitem(sys.modules, module, fake)
    # Imported anew with the recorders, and forgotten with them.
    monkeypatch.delitem(sys.modules, 'safegen_ros.bringup.launch', raising=False)
    yield importlib.import_module('safegen_ros.bringup.launch')
    del sys.modules['safegen_ros.bringup.launch']


def entities_of(profile):
    """What the launch file of a profile describes: its arguments, and the function of its nodes."""
    names = runpy.run_path(str(LAUNCH_FILES / f'{profile}.launch.py'))
    (entities,) = names['generate_launch_description']().args
    return entities


def test_every_profile_has_a_launch_file():
    found = {path.name.removesuffix('.launch.py') for path in LAUNCH_FILES.glob('*.launch.py')}
    assert found == set(PROFILES)


@pytest.mark.parametrize('profile', PROFILES)
def test_launch_declares_the_arguments_of_the_table(launching, profile):
    entities = entities_of(profile)
    declared = {
        entity.args[0]: (
            entity.kwargs['default_value'],
            entity.kwargs['description'],
            tuple(entity.kwargs.get('choices', ())),
        )
        for entity in entities[:-1]
    }
    table = PROFILES[profile].args
    assert declared == {spec.name: (spec.default, spec.help, spec.choices) for spec in table}


@pytest.mark.parametrize('profile', PROFILES)
def test_launch_starts_the_nodes_of_the_table(launching, profile, tmp_path):
    values = {spec.name: spec.default for spec in PROFILES[profile].args}
    values |= {'namespace': 'lab', 'seed': '3', 'model': str(tmp_path), 'log_level': 'warn'}
    made = [
        node.kwargs for node in entities_of(profile)[-1].kwargs['function'](context_of(**values))
    ]
    specs = node_specs(profile, values)
    assert [m['name'] for m in made] == [spec.name for spec in specs]
    for node, spec in zip(made, specs, strict=True):
        assert node['package'] == 'safegen_ros'
        assert node['executable'] == spec.executable
        assert node['namespace'] == 'lab'
        assert node['ros_arguments'] == ['--log-level', 'warn']
        assert node['parameters'][: len(spec.params_files)] == list(spec.params_files)
        assert (
            node['parameters'][len(spec.params_files) :] == [dict(spec.params)][: bool(spec.params)]
        )
        assert type(node['on_exit']).__name__ == 'Shutdown'


@pytest.mark.parametrize(
    ('given', 'passed'), [('', None), ('lab/arm1', 'lab/arm1'), ('/lab', '/lab'), ('/', '/')]
)
def test_a_namespace_that_a_group_has_pushed_counts(launching, given, passed):
    values = {spec.name: spec.default for spec in PROFILES['sim'].args}
    make = entities_of('sim')[-1].kwargs['function']
    nodes = make(context_of(**(values | {'namespace': given})))
    assert {node.kwargs['namespace'] for node in nodes} == {passed}


def test_a_mistyped_argument_is_a_warning_on_the_twin_and_an_error_on_the_arm(launching, caplog):
    def make(profile, *argv, **more):
        values = {spec.name: spec.default for spec in PROFILES[profile].args}
        return entities_of(profile)[-1].kwargs['function'](context_of(*argv, **values, **more))

    assert make('sim', 'speed_limt:=0.1', cel='symbolic', speed_limt='0.1', ros_namespace='/lab')
    (record,) = caplog.records
    assert record.levelname == 'WARNING'
    assert "names cel (did you mean 'cell'?), speed_limt" in record.getMessage()
    with pytest.raises(BringupError, match=r"speed_limt \(did you mean 'speed_limit'\?\)"):
        make('mycobot', speed_limt='0.1')
    caplog.clear()
    assert make('mycobot', 'robot:=x', robot='x')  # its launch file may include this one
    assert 'robot' in caplog.text


def test_launch_respawns_only_nodes_that_are_not_required(launching):
    node = launching.node(NodeSpec('n', 'n', 'm', required=False, max_respawns=2))
    assert node.kwargs['respawn'] is True
    assert node.kwargs['respawn_max_retries'] == 2
    assert 'on_exit' not in node.kwargs

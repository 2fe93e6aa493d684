# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of interfaces, and what is made of it: pages and policy are up to date and complete."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest
import yaml

from safegen_ros.errors import ErrorCode
from safegen_ros.node_parameters import NODES as PARAMETERS
from safegen_ros.nodes import reference
from safegen_ros.paths import share_dir
from safegen_ros.ros.interfaces import CONSOLE, INTERFACES, Kind, of_kind, of_node, policy_xml

NODES = list(INTERFACES)
POLICY = share_dir() / 'config' / 'security' / 'policy.xml'
# The schema of policy 0.2.0: what may stand in what, with which attributes.
SCHEMA: dict[str, tuple[set[str], set[str]]] = {
    'policy': ({'enclaves'}, {'version'}),
    'enclaves': ({'enclave'}, set()),
    'enclave': ({'profiles'}, {'path'}),
    'profiles': ({'profile'}, {'type'}),
    'profile': ({'topics', 'services', 'actions'}, {'ns', 'node'}),
    'topics': ({'topic'}, {'publish', 'subscribe'}),
    'services': ({'service'}, {'reply', 'request'}),
    'actions': ({'action'}, {'call', 'execute'}),
    'topic': (set(), set()),
    'service': (set(), set()),
    'action': (set(), set()),
}


@pytest.mark.parametrize('node', [*NODES, CONSOLE])
def test_the_page_of_a_node_is_up_to_date(node: str) -> None:
    page = (share_dir() / 'docs' / 'nodes' / f'{node}.md').read_text(encoding='utf-8')
    assert reference.renewed(page, node) == page, (
        'renew it: python -m safegen_ros.nodes.reference docs/nodes'
    )


def test_every_code_of_a_server_is_on_a_page() -> None:
    told = {number for node in NODES for _, number, _ in reference.codes_of(node)}
    assert told == {int(code) for code in ErrorCode if 0 < code < 500}


@pytest.mark.parametrize('node', NODES)
def test_every_number_has_a_range_and_every_default_is_allowed(node: str) -> None:
    for parameter in PARAMETERS[node]:
        if type(parameter.default) in (int, float):
            assert parameter.low is not None, parameter.name
            assert parameter.high is not None, parameter.name
            assert parameter.low <= parameter.default <= parameter.high, parameter.name
        assert parameter.problem(parameter.default) == '', parameter.name


def test_a_page_without_its_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match='the page of the planner lacks'):
        reference.renewed('# The planner node', 'planner')


def test_the_shipped_policy_is_the_generated_one() -> None:
    assert POLICY.read_text(encoding='utf-8') == policy_xml()


@pytest.mark.parametrize('namespace', ['/', '/lab/arm1'])
def test_the_policy_follows_its_schema(namespace: str) -> None:
    root = ET.fromstring(policy_xml(namespace))
    assert root.get('version') == '0.2.0'
    for element in root.iter():
        children, attributes = SCHEMA[element.tag]
        assert {child.tag for child in element} <= children, element.tag
        assert set(element.attrib) <= attributes, element.tag
        if element.tag in ('topics', 'services', 'actions'):
            assert list(element.attrib.values()) == ['ALLOW']
            assert len(element) > 0
        if not children:
            assert re.fullmatch(r'(/\w+)+', element.text or ''), element.text
    for profile in root.iter('profile'):
        assert profile.get('ns') == namespace


def test_the_policy_gives_motion_to_the_executor_alone() -> None:
    root = ET.fromstring(policy_xml())
    allowed: dict[tuple[str, str], set[str]] = {}
    for enclave in root.iter('enclave'):
        for group in enclave.iter():
            for permission in group.attrib.keys() & {'publish', 'execute', 'reply', 'call'}:
                names = allowed.setdefault((enclave.get('path', ''), permission), set())
                names |= {item.text or '' for item in group}
    assert allowed['/safegen/executor', 'execute'] == {'/execute_plan'}
    assert ('/safegen/validator', 'execute') not in allowed
    assert allowed['/safegen/planner', 'call'] == {'/execute_plan'}
    assert ('/safegen/validator', 'call') not in allowed
    assert allowed['/safegen/console', 'call'] == {'/plan_task', '/run_task'}
    for topic in ('/joint_states', '/stopped', '/clock'):
        publishers = {who for (who, what), n in allowed.items() if what == 'publish' and topic in n}
        assert publishers == {'/safegen/executor'}
    assert '/stop' not in allowed['/safegen/planner', 'reply']


def test_the_console_can_end_what_is_executed_and_cannot_send_it() -> None:
    (console,) = [
        each for each in ET.fromstring(policy_xml()).iter('enclave')
        if each.get('path') == '/safegen/console'
    ]  # fmt: skip
    asked = {item.text for item in console.iter('service')}
    assert '/execute_plan/_action/cancel_goal' in asked
    assert '/execute_plan/_action/send_goal' not in asked
    assert {'/stop', '/executor/operate', '/planner/approve'} <= asked
    assert not [each for each in console.iter('actions') if 'execute' in each.attrib]


def test_names_are_resolved_as_ros_does() -> None:
    (attempts,) = [i for i in of_node('planner') if i.name == '~/attempts']
    (clock,) = [i for i in of_kind(of_node('executor'), Kind.PUBLISHER) if i.name == '/clock']
    assert attempts.full_name('/', 'planner') == '/planner/attempts'
    assert attempts.full_name('/lab', 'planner') == '/lab/planner/attempts'
    assert clock.full_name('/lab', 'executor') == '/clock'


def test_the_shipped_layouts_show_topics_of_the_table() -> None:
    there = {each.full_name('/', node) for node in INTERFACES for each in of_node(node)}
    layout = json.loads((share_dir() / 'config' / 'foxglove_layout.json').read_text())
    shown: list[str] = []
    for panel in layout['configById'].values():
        shown += panel.get('topics', {})
        shown += [panel[key] for key in ('topicPath', 'topicToRender') if key in panel]
        shown += [path['value'].split('.')[0] for path in panel.get('paths', ())]
    rviz = yaml.safe_load((share_dir() / 'config' / 'safegen.rviz').read_text())
    for display in rviz['Visualization Manager']['Displays']:
        shown += [display[key]['Value'] for key in ('Topic', 'Description Topic') if key in display]
    assert len(shown) > 8
    assert set(shown) <= there

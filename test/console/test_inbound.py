# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A viewer can set values and click, and change nothing else for other viewers."""

from __future__ import annotations

import contextlib
import math
import queue
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import viser
from support.waiting import WAIT_S, wait_until
from viser import _messages
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from safegen_ros.console.access import Gate, serve
from safegen_ros.console.inbound import MAX_MESSAGE

CAMERA: dict[str, Any] = {
    'type': 'ViewerCameraMessage', 'wxyz': [1, 0, 0, 0], 'position': [1, 1, 1], 'fov': 1.0,
    'near': 0.1, 'far': 10, 'image_height': 100, 'image_width': 100, 'look_at': [0, 0, 0],
    'up_direction': [0, 0, 1],
}  # fmt: skip
"""As the page of viser sends it."""


class Page:
    """A server with one widget of each kind, and the events that reached its callbacks."""

    def __init__(self) -> None:
        self.server = serve(Gate('127.0.0.1'), 0)
        gui = self.server.gui
        self.events: queue.Queue[str] = queue.Queue()
        self.stop = gui.add_button('STOP')
        self.hidden = gui.add_button('Approve', visible=False)
        self.off = gui.add_button('Send', disabled=True)
        self.text = gui.add_text('Rule', '')
        self.choice = gui.add_dropdown('Problem', ('one', 'two'))
        self.number = gui.add_number('Attempts', 1, min=0, max=255, step=1)
        self.speed = gui.add_slider('Speed', 0.0, 1.0, 0.1, 0.5)
        self.box = gui.add_checkbox('Ask me', True)
        for name in ('stop', 'hidden', 'off'):
            getattr(self, name).on_click(lambda _, name=name: self.events.put(name))
        command = gui.add_command('Stop', hotkey='escape')
        command.on_trigger(lambda _: self.events.put('escape'))
        self.command: str = command._impl.uuid
        self.widgets = (
            self.stop, self.hidden, self.off, self.text, self.choice, self.number, self.speed,
            self.box,
        )  # fmt: skip

    def viewer(self) -> ClientConnection:
        port, protocol = self.server.get_port(), f'viser-v{viser.__version__}'
        seen = len(self.server.get_clients())
        opened = connect(f'ws://127.0.0.1:{port}/', subprotocols=[protocol], max_size=None)
        send(opened, CAMERA)
        wait_until(lambda: len(self.server.get_clients()) > seen, 'the viewer')
        return opened

    @property
    def state(self) -> list[str]:
        """All attributes of all widgets, but not how often they were clicked."""
        shown = [
            {name: value for name, value in vars(each._impl).items() if name != 'update_timestamp'}
            for each in self.widgets
        ]
        for each in shown:
            each['gui_api'] = id(each['gui_api'])
            each['value'] = each['value'] or each['is_button']  # viser keeps the click
        return list(map(repr, shown))


@pytest.fixture
def page() -> Iterator[Page]:
    made = Page()
    yield made
    made.server.stop()


def send(viewer: ClientConnection, message: Any) -> None:
    viewer.send(message if isinstance(message, bytes) else msgspec.msgpack.encode(message))


def update(widget: Any, updates: Any, **more: Any) -> dict[str, Any]:
    return {'type': 'GuiUpdateMessage', 'uuid': widget._impl.uuid, 'updates': updates, **more}


def works(page: Page, viewer: ClientConnection) -> bool:
    """Whether a click, a hotkey and a value of a viewer arrive, after all that was sent before."""
    send(viewer, update(page.stop, {'value': True}))
    send(viewer, {'type': 'CommandTriggerMessage', 'uuid': page.command})
    return sorted(page.events.get(timeout=WAIT_S) for _ in range(2)) == ['escape', 'stop']


UPDATES: list[Any] = [
    {'removed': True}, {'props': 'x'}, {'update_cb': []}, {'gui_api': None}, {'is_button': False},
    {'uuid': 'another'}, {'sync_cb': None}, {'value': True, 'removed': True},
    {'value': True, 'props': {}}, {'value': False}, {'value': None}, {'value': 'yes'}, {'value': 1},
    {'value': [True]}, {'value': {'a': 1}}, {'nothing_of_that_name': 1}, {}, [], 'value', None,
]  # fmt: skip


def test_an_update_is_a_value_and_nothing_else(page: Page) -> None:
    attacker, operator = page.viewer(), page.viewer()
    before = page.state
    for updates in UPDATES:
        for widget in (page.stop, page.hidden, page.off):
            send(attacker, update(widget, updates))
        assert works(page, attacker), updates
        assert page.state == before, updates
    assert works(page, operator)


def test_every_other_message_of_viser_is_dropped(page: Page) -> None:
    attacker, operator = page.viewer(), page.viewer()
    before = page.state
    kinds = [kind.__name__ for kind in _messages.Message.get_subclasses()]
    assert {'FileTransferPart', 'ShareUrlRequest', 'GuiFormSubmitMessage'} <= {*kinds}
    for name in kinds:
        send(attacker, {'type': name})
        send(attacker, {'type': name, 'uuid': page.stop._impl.uuid, 'name': '/live', 'owner': ''})
    upload = {
        'type': 'FileTransferStartUpload', 'source_component_uuid': page.box._impl.uuid,
        'transfer_uuid': 't', 'filename': 'x', 'mime_type': 'x', 'part_count': 2, 'size_bytes': 9,
    }  # fmt: skip
    part = {
        'type': 'FileTransferPart', 'source_component_uuid': page.box._impl.uuid,
        'transfer_uuid': 't', 'part_index': 0, 'content': bytes(1 << 20),
    }  # fmt: skip
    for message in (upload, part, b'', b'\xc1', b'\x91' * 100_000, [], 7, {'type': 1}, {}):
        send(attacker, message)
    attacker.send('a text frame')
    send(attacker, {**CAMERA, 'position': [math.nan, 0, 0]})
    send(attacker, {**CAMERA, 'position': [0, 0]})
    send(attacker, {**CAMERA, 'extra': 1})
    send(attacker, update(page.stop, {'value': True}, excluded_self_client=0))
    assert works(page, attacker)
    assert page.state == before
    assert not page.server.gui._current_file_upload_states
    assert works(page, operator)


@pytest.mark.parametrize(
    ('name', 'good', 'bad'),
    [
        ('text', ['', 'never put b1 on b2'], [1, True, ['a'], 'x' * ((8 << 20) + 1)]),
        ('choice', ['two', 'one'], ['three', '', 0]),
        ('number', [0, 255, 7], [-1, 256, 1.5, math.nan, math.inf, '7', True, 10**18]),
        ('speed', [0.25, 1, 0], [-0.1, 1.1, math.nan, '0.5', True]),
        ('box', [False, True], [1, 'no', None]),
    ],
)
def test_a_widget_takes_values_of_its_own_type_and_range(
    page: Page, name: str, good: list[Any], bad: list[Any]
) -> None:
    viewer, widget = page.viewer(), getattr(page, name)
    for value in good:
        send(viewer, update(widget, {'value': value}))
        wait_until(lambda value=value: widget.value == value, f'{name} = {value!r}')
    for value in bad:
        send(viewer, update(widget, {'value': value}))
    assert works(page, viewer)
    assert widget.value == good[-1]
    assert type(widget.value) is type(widget._impl.value)


def test_a_button_that_is_hidden_or_disabled_cannot_be_clicked(page: Page) -> None:
    viewer = page.viewer()
    for widget in (page.hidden, page.off):
        send(viewer, update(widget, {'value': True}))
    assert works(page, viewer)
    page.hidden.visible, page.off.disabled = True, False
    for widget in (page.hidden, page.off):
        send(viewer, update(widget, {'value': True}))
    assert sorted(page.events.get(timeout=WAIT_S) for _ in range(2)) == ['hidden', 'off']


def test_a_button_of_a_dialog_of_one_viewer_works(page: Page) -> None:
    viewer = page.viewer()
    (client,) = page.server.get_clients().values()
    with client.gui.add_modal('Reset?'):
        yes = client.gui.add_button('Yes')
    yes.on_click(lambda _: page.events.put('yes'))
    send(viewer, update(yes, {'removed': True}))
    send(viewer, update(yes, {'value': True}))
    assert page.events.get(timeout=WAIT_S) == 'yes'


def test_a_message_that_is_too_long_ends_its_connection_alone(page: Page) -> None:
    attacker, operator = page.viewer(), page.viewer()
    with contextlib.suppress(ConnectionClosedError):  # it may close before all is sent
        attacker.send(bytes(MAX_MESSAGE + 1))
    wait_until(lambda: len(page.server.get_clients()) == 1, 'the end of the connection')
    assert works(page, operator)

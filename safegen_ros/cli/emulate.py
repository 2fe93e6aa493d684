# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen arm emulate`: an arm made of software, which programs of the vendor can drive."""

from __future__ import annotations

import queue
import signal
from pathlib import Path
from typing import Annotated

import typer

EMULATED = 'mycobot'


def emulate(
    arm: Annotated[
        str, typer.Argument(help=f'arm to emulate: {EMULATED} (myCobot 280)')
    ] = EMULATED,
    port: Annotated[
        Path | None,
        typer.Option(help='path of a link to the serial port, for a stable name'),
    ] = None,
    tcp: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help='also serve this TCP port on loopback (0: any free one)'
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help='fault to cause, as name=value@seconds after the first motion; see --list-faults'
        ),
    ] = None,
    problem: Annotated[
        Path | None, typer.Option(help='problem with the blocks to set up (default: none)')
    ] = None,
    scene: Annotated[
        Path | None,
        typer.Option(help='YAML of the table and the tool (default: config/scene.yaml)'),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help='seed of the faults')] = 0,
    list_faults: Annotated[
        bool, typer.Option('--list-faults', help='print the faults and exit')
    ] = False,
) -> None:
    """Emulate an arm: the protocol of its firmware over the MuJoCo twin, until Ctrl-C.

    This stack and the programs of the vendor can drive it at a serial port or over TCP.
    """
    if arm != EMULATED:
        raise typer.BadParameter(f'{arm!r} cannot be emulated: name {EMULATED}')
    from safegen_ros.robot.emulator.faults import KNOBS, FaultError, parse_fault

    if list_faults:
        for name, knob in KNOBS.items():
            print(f'{name:<14} {knob.help} ({knob.low:g} to {knob.high:g}; {knob.default:g})')
        return
    from safegen_ros.goals.files import find_problem, read_task
    from safegen_ros.paths import data_path
    from safegen_ros.robot.cell.grounding import initial_layout
    from safegen_ros.robot.emulator.emulator import Emulator
    from safegen_ros.robot.scene import load_scene
    from safegen_ros.robot.twin.twin import MujocoTwin

    cell = load_scene(None if scene is None else data_path(scene))
    poses = {}
    if problem is not None:
        task = read_task(find_problem(problem)).problem
        poses = initial_layout(cell, tuple(task.objects), task.init).poses
    try:
        faults = [parse_fault(text) for text in fault or ()]
    except FaultError as error:
        raise typer.BadParameter(error.message) from error
    ended: queue.SimpleQueue[None] = queue.SimpleQueue()  # an Event may not be set by a handler
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.put(None))
    with (
        MujocoTwin(cell, poses) as twin,
        Emulator(twin, link=port, tcp_port=tcp, faults=faults, seed=seed) as emulator,
    ):
        print(f'serial port: {port or emulator.serial_port}', flush=True)
        if emulator.tcp_port is not None:
            print(f'TCP port: {emulator.tcp_port}', flush=True)
        print('READY', flush=True)
        ended.get()

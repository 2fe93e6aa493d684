# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen arm`: emulate an arm, calibrate its scene, release its tool."""

from __future__ import annotations

import math
import queue
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from safegen_ros.bringup.table import argument_values, node_specs, parameters
from safegen_ros.cli.completion import complete_profile_argument
from safegen_ros.cli.operate import blocks_set_up, release
from safegen_ros.errors import RobotError, SafegenError

if TYPE_CHECKING:
    from safegen_ros.robot.arm import Arm
    from safegen_ros.robot.arms.model import Joints
    from safegen_ros.robot.scene import Scene
    from safegen_ros.robot.twin.twin import MujocoTwin

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


#: Where the table is touched, as shares of the way from the first slot to the last.
_TABLE_POINTS = (0.08, 0.42, 0.75)
#: The tip waits this far above the place to touch [m]; the person brings it down.
_ABOVE = 0.02
_HELP = (
    'x 5, y -2, z -1: move by so many mm, at most 20; t: it touches; s: leave this point out; '
    'r: go on after a fault; q: end without a file'
)


class Quit(SafegenError):
    """The person has ended the calibration; nothing was written."""


def calibrate(
    out: Annotated[Path, typer.Argument(help='scene file to write', dir_okay=False)],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help='arguments of the profile mycobot, as name:=value',
            autocompletion=complete_profile_argument,
        ),
    ] = None,
    scene: Annotated[
        Path | None, typer.Option(help='scene to correct (default: the shipped one)')
    ] = None,
    dry_run: Annotated[
        bool, typer.Option('--dry-run', help='practise on the twin, with a block on every slot')
    ] = False,
) -> None:
    """Measure tool and slots by touch, and write a scene.

    The arm goes slowly above each point and stops there. You bring it down until the lip just
    touches. The file is written only when every slot and tower height in it can be reached.
    """
    from safegen_ros.robot.calibration import measure, scene_text, write_scene
    from safegen_ros.robot.scene import default_scene_path, load_scene

    source = scene or default_scene_path()
    nominal = load_scene(source)
    arm: Arm = _twin(nominal) if dry_run else _real(nominal, argument_values(arguments or ()))
    try:
        table, blocks = _touches(arm, nominal)
    finally:
        arm.close()
    measured = measure(table, blocks, nominal)
    write_scene(out, scene_text(source, measured))
    print(
        f'tool length {1000 * measured.tool_length:.1f} mm '
        f'(before: {1000 * nominal.tool_length:.1f} mm), table level within '
        f'{1000 * measured.table_spread:.1f} mm, {len(measured.slots)} slots measured\n'
        f'written: {out}; every slot takes a tower of {nominal.max_tower}. '
        f'Use it with scene_file in the parameter file of the executor'
    )


def _touches(arm: Arm, scene: Scene) -> tuple[list[Joints], dict[str, Joints]]:
    """Leads through all points; joints (6,) [rad] at the touches of the table, and of each slot."""
    print(_HELP)
    first, last = scene.slots[0].azimuth, scene.slots[-1].azimuth
    table = []
    for number, share in enumerate(_TABLE_POINTS, start=1):
        azimuth = first + share * (last - first)
        what = f'the bare table ({number} of {len(_TABLE_POINTS)})'
        touch = _point(arm, scene, what, (scene.slots[0].radius, azimuth, 0.0))
        if touch is not None:
            table.append(touch)
    blocks = {}
    for slot in scene.slots:
        what = f'the middle of a block on slot {slot.name}'
        touch = _point(arm, scene, what, (slot.radius, slot.azimuth, scene.block_size))
        if touch is not None:
            blocks[slot.name] = touch
    return table, blocks


def _point(arm: Arm, scene: Scene, what: str, where: tuple[float, float, float]) -> Joints | None:
    """Goes above a point, and has the person touch it; None when it is left out.

    Args:
        where: its radius [m], azimuth [rad] and height [m].
    """
    from safegen_ros.robot import skills
    from safegen_ros.robot.arm import TABLE, TOOL
    from safegen_ros.robot.calibration import jog
    from safegen_ros.robot.pose import Pose

    radius, azimuth, height = where
    above = Pose.upright(radius * math.cos(azimuth), radius * math.sin(azimuth), height, azimuth)
    arm.expect_contacts((TOOL, TABLE), *((TOOL, slot.name) for slot in scene.slots))
    blocks = [scene.slot_pose(slot) for slot in scene.slots]
    skills.approach(arm, _slow(scene), above, height + _ABOVE, blocks)
    print(f'touch {what}')
    while True:
        words = _asked()
        try:
            if words == ['t']:
                touched = arm.joint_positions()
                jog(arm, 'z', _ABOVE, scene)
                return touched
            if words == ['s']:
                return None
            if words == ['r']:
                _release(arm)
                continue
            if words == ['q']:
                raise Quit('ended: nothing was written')
            if len(words) != 2 or words[0] not in ('x', 'y', 'z'):
                raise RobotError(f'{" ".join(words)!r} is not a command: {_HELP}')
            jog(arm, words[0], _millimetres(words[1]), scene)
        except RobotError as error:
            print(error.message)


def _asked() -> list[str]:
    try:
        return input('> ').split()
    except EOFError:
        raise Quit('ended: nothing was written') from None


def _millimetres(word: str) -> float:
    """The distance in a word [m]."""
    try:
        return float(word) / 1000
    except ValueError:
        raise RobotError(f'{word!r} is not a number of millimetres') from None


def _slow(scene: Scene) -> Scene:
    """The scene with the speed of somebody who does not know yet where things are."""
    motion = replace(scene.motion, travel_speed_fraction=0.2, vertical_speed_fraction=0.1)
    return replace(scene, motion=motion)


def _twin(scene: Scene) -> MujocoTwin:
    from safegen_ros.robot.twin.twin import MujocoTwin

    return MujocoTwin(scene, {slot.name: scene.slot_pose(slot) for slot in scene.slots})


def _real(scene: Scene, values: dict[str, str]) -> Arm:
    from safegen_ros.robot.cell.real import connect_arm
    from safegen_ros.robot.cell.settings import ArmSettings, settings_of

    specs = {spec.name: spec for spec in node_specs('mycobot', values)}
    settings = settings_of(ArmSettings, parameters(specs['executor']))
    arm = connect_arm(settings, scene.arm, lambda sample: None)
    try:
        _release(arm)
    except BaseException:
        arm.close()
        raise
    return arm


def _release(arm: Arm) -> None:
    """Makes the arm fit to move and lets it: the person at the table has asked for it."""
    arm.rearm()
    arm.reset_stop()


app = typer.Typer(no_args_is_help=True)
for command in (calibrate, emulate, release, blocks_set_up):
    app.command()(command)

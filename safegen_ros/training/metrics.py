# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a run reports: a line of JSON each time, a bar while it goes on, a picture at its end."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn
from transformers import TrainerCallback

from safegen_ros.paths import write_durably
from safegen_ros.terminal import Console

METRICS = 'metrics.jsonl'
PICTURE = 'metrics.png'

_SPEEDS = ('_runtime', '_per_second', 'step_time')  # told better by the clocks
_CLOCKS = ('wall_s', 'cpu_s')
_SHOWN = ('loss', 'eval_loss', 'plan_accuracy', 'reward', 'success')
_NO_CURVE = ('step', 'epoch', *_CLOCKS)
_COLUMNS = 4

LINE_S = 60.0
"""Time between two lines about the progress where there is no terminal [s]."""

_PANEL = (3.6, 2.5)  # size of a curve [inch]


def read_metrics(path: Path) -> list[dict[str, float]]:
    """The reports of a run; a last line that a kill cut off is left out."""
    found = []
    for line in path.read_text(encoding='utf-8').splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def forget_after(path: Path, step: int) -> None:
    """Drops what a killed run reported after its last checkpoint, which it will report again."""
    kept = [line for line in read_metrics(path) if line['step'] <= step]
    write_durably(path, ''.join(json.dumps(line) + '\n' for line in kept))


class MetricsWriter(TrainerCallback):
    """Writes what the trainer reports as one line of JSON each time.

    `wall_s` and `cpu_s` count the seconds of the whole run, those before a kill included.

    Args:
        path: the file, which is appended to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        before = next(iter(read_metrics(path)[-1:]), {})
        self._wall = time.monotonic() - before.get('wall_s', 0.0)
        self._cpu = time.process_time() - before.get('cpu_s', 0.0)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Appends a line."""
        if not state.is_world_process_zero or 'train_runtime' in (logs or {}):
            return  # the last report is a summary, of no step
        line = {
            'step': state.global_step,
            'wall_s': round(time.monotonic() - self._wall, 1),
            'cpu_s': round(time.process_time() - self._cpu, 1),
            **numbers(logs or {}),
        }
        with self._path.open('a', encoding='utf-8') as file:
            file.write(json.dumps(line) + '\n')


def numbers(logs: dict[str, Any]) -> dict[str, float]:
    """The finite numbers of a report, to five digits."""
    return {
        key: float(f'{value:.5g}')
        for key, value in logs.items()
        if isinstance(value, float) and math.isfinite(value) and not key.endswith(_SPEEDS)
    }


class Bar(TrainerCallback):
    """How far the run is, and how it goes: one line on a terminal, elsewhere a line a minute."""

    def __init__(self) -> None:
        self._console = console = Console(stderr=True)
        self._progress = Progress(
            *Progress.get_default_columns()[:2],
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._shown: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Draws it."""
        if state.is_world_process_zero:
            self._progress.start()
            self._task = self._progress.add_task('training', total=state.max_steps)
            self._first, self._began = state.global_step, time.monotonic()
            self._printed = self._began

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Moves it on."""
        if state.is_world_process_zero:
            self._progress.update(self._task, completed=state.global_step)
            now = time.monotonic()
            if not self._console.is_terminal and now - self._printed >= LINE_S:
                self._printed = now
                self._console.print(self._line(state, now), soft_wrap=True)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Shows the latest of a few numbers."""
        if state.is_world_process_zero:
            found = numbers(logs or {})
            self._shown.update({key: found[key] for key in _SHOWN if key in found})
            self._progress.update(self._task, description=self._figures() or 'training')

    def _figures(self) -> str:
        return ' '.join(f'{key} {value:.3g}' for key, value in self._shown.items())

    def _line(self, state: Any, now: float) -> str:
        done = state.global_step - self._first
        left = (now - self._began) / done * (state.max_steps - state.global_step)
        return (
            f'step {state.global_step} of {state.max_steps}, {left / 60:.0f} min left  '
            f'{self._figures()}'
        )

    def end(self) -> None:
        """Leaves the line as it is, whether the run ended or failed."""
        self._progress.stop()


def draw_metrics(out: Path) -> Path:
    """Draws a curve over the steps for each number that changed in the course of a run.

    Returns:
        The picture.
    """
    lines = read_metrics(out / METRICS)
    names = dict.fromkeys(key for line in lines for key in line if key not in _NO_CURVE)
    curves = {n: [(line['step'], line[n]) for line in lines if n in line] for n in names}
    curves = {name: points for name, points in curves.items() if len({y for _, y in points}) > 1}
    rows = max(1, -(-len(curves) // _COLUMNS))
    figure = Figure((_COLUMNS * _PANEL[0], rows * _PANEL[1]))
    for place, (name, points) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(rows, _COLUMNS, place)
        axes.plot(*zip(*points, strict=True), color='#0072b2', linewidth=1.2)
        axes.set_title(name, fontsize=9)
        axes.tick_params(labelsize=7)
        if place > len(curves) - _COLUMNS:
            axes.set_xlabel('step', fontsize=8)
    edge = 0.5 / (rows * _PANEL[1])  # in all places, half an inch; a fitted layout takes seconds
    figure.subplots_adjust(0.04, edge, 0.99, 1 - edge, wspace=0.25, hspace=0.4)
    figure.savefig(out / PICTURE, dpi=100)
    return out / PICTURE

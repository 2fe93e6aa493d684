# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A line chart of shares as SVG text, which every browser and every Markdown viewer shows."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 48, 118
_COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7')  # told apart by colour-blind readers too
_MARKS = ('circle', 'square', 'triangle', 'diamond')
_DASHES = ('8 4', '2 4', '8 4 2 4')


@dataclass(frozen=True, slots=True)
class Series:
    """A line: a share [%] for every tick of the chart, None where there is none."""

    name: str
    shares: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line at a share [%], for a figure that somebody else reports."""

    name: str
    share: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Shares over sizes.

    Attributes:
        title: above it all.
        x_label: what the ticks are.
        y_label: what the shares are of.
        ticks: the sizes, in order.
        series: measured lines.
        levels: lines to compare with.
    """

    title: str
    x_label: str
    y_label: str
    ticks: tuple[int, ...]
    series: tuple[Series, ...]
    levels: tuple[Level, ...] = ()

    def svg(self) -> str:
        """The chart as the text of an SVG file."""
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="13">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
            _text(_WIDTH / 2, 24, self.title, 'middle', size=15),
            *self._axes(),
            *(part for i, level in enumerate(self.levels) for part in _level(i, level)),
            *(part for i, line in enumerate(self.series) for part in self._line(i, line)),
            *self._legend(),
            '</svg>',
        ]
        return '\n'.join([*parts, ''])

    def _x(self, index: int) -> float:
        step = (_WIDTH - _LEFT - _RIGHT) / len(self.ticks)
        return _LEFT + step * (index + 0.5)

    def _axes(self) -> list[str]:
        bottom = _HEIGHT - _BOTTOM
        parts = []
        for share in range(0, 101, 20):
            y = _y(share)
            parts.append(_rule(_LEFT, y, _WIDTH - _RIGHT, y, '#dddddd'))
            parts.append(_text(_LEFT - 8, y + 4, str(share), 'end'))
        parts += [
            _text(self._x(i), bottom + 20, str(t), 'middle') for i, t in enumerate(self.ticks)
        ]
        parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 42, self.x_label, 'middle'))
        middle = (_TOP + bottom) / 2
        turned = f' transform="rotate(-90 18 {middle:g})"'
        parts.append(_text(18, middle, self.y_label, 'middle', extra=turned))
        return parts

    def _line(self, index: int, line: Series) -> list[str]:
        colour = _COLOURS[index % len(_COLOURS)]
        points = [
            (self._x(i), _y(share)) for i, share in enumerate(line.shares) if share is not None
        ]
        path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in points)
        drawn = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        return [drawn, *(_mark(index, x, y, colour) for x, y in points)]

    def _legend(self) -> list[str]:
        parts = []
        for index, line in enumerate(self.series):
            x, y = _slot(index)
            colour = _COLOURS[index % len(_COLOURS)]
            parts.append(_rule(x, y - 4, x + 30, y - 4, colour, 2))
            parts.append(_mark(index, x + 15, y - 4, colour))
            parts.append(_text(x + 38, y, line.name, 'start'))
        for index, level in enumerate(self.levels):
            x, y = _slot(index + len(self.series))
            dashes = _DASHES[index % len(_DASHES)]
            parts.append(_rule(x, y - 4, x + 30, y - 4, '#555555', 1.5, dashes))
            parts.append(_text(x + 38, y, level.name, 'start'))
        return parts


def _slot(index: int) -> tuple[float, float]:
    """Where an entry of the legend stands; two to a row."""
    return _LEFT + (index % 2) * 320, _HEIGHT - 50 + (index // 2) * 20


def _y(share: float) -> float:
    return _TOP + (100 - share) / 100 * (_HEIGHT - _TOP - _BOTTOM)


def _level(index: int, level: Level) -> list[str]:
    y = _y(level.share)
    dashes = _DASHES[index % len(_DASHES)]
    return [_rule(_LEFT, y, _WIDTH - _RIGHT, y, '#555555', 1.5, dashes)]


def _rule(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dashes: str = ''
) -> str:
    broken = f' stroke-dasharray="{dashes}"' if dashes else ''
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}"{broken}/>'
    )


def _mark(index: int, x: float, y: float, colour: str) -> str:
    kind = _MARKS[index % len(_MARKS)]
    if kind == 'circle':
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    if kind == 'square':
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    corners = (
        ((0, -5), (5, 4), (-5, 4)) if kind == 'triangle' else ((0, -6), (6, 0), (0, 6), (-6, 0))
    )
    points = ' '.join(f'{x + dx:.1f},{y + dy:.1f}' for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, *, size: int = 13, extra: str = '') -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{extra}>'
        f'{escape(text)}</text>'
    )

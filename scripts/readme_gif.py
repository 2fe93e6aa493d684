# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Draws the animation of the README from a run of `safegen demo`.

    safegen demo && .venv/bin/python scripts/readme_gif.py runs/STAMP docs/pictures/demo.gif

First the shortest plan without the rules and why it is refused, then each attempt of the model,
then the arm as it was recorded, sped up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import fill

from PIL import Image, ImageDraw, ImageFont

from safegen_ros.language.english import constraint_sentence
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.record.run_log import load_run
from safegen_ros.record.video import VideoSample, recorded_messages, shown_samples
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.render import Renderer
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Verdict

WIDTH, HEIGHT, PANEL = 960, 540, 400  # pixels
RATE = 10  # pictures per second
CARD_S, MOTION_S, END_S = 1.2, 3.4, 1.0
WHITE, GREY, RED, GREEN = '#f4f6f8', '#9aa7b4', '#ff6b5e', '#5fd38a'
BACKGROUND = '#18212b'


def main() -> None:
    """Writes the GIF of a run."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    record = load_run(folder).record
    samples = shown_samples(recorded_messages(folder / 'run.mcap'))
    task = load_task(record.task.problem)
    problem = task.problem
    obvious = [str(s) for s in solve(replace(problem, constraints=()), optimal=True).plan.steps]
    rules = {constraint_text(c): constraint_sentence(c, problem) for c in problem.constraints}
    attempts = [('Without the rules', obvious, task.verify('\n'.join(obvious)))]
    attempts += [(f'Model, attempt {a.number}', [*a.steps], a.verdict) for a in record.attempts]

    pictures = []
    with Renderer(
        load_scene(), samples[0].poses, width=2 * (WIDTH - PANEL), height=2 * HEIGHT
    ) as renderer:
        still = _twin(renderer, samples[0])
        for title, steps, verdict in attempts:
            card = _card(title, steps, verdict, len(steps), rules)
            pictures += [_joined(card, still)] * round(CARD_S * RATE)
        title, steps, verdict = attempts[-1]
        for sample in _spread(samples, round(MOTION_S * RATE)):
            done = _steps_done(sample)
            pictures.append(
                _joined(_card('Arm', steps, verdict, done, rules), _twin(renderer, sample))
            )
        end = _joined(
            _card('Goal reached', steps, verdict, len(steps), rules), _twin(renderer, samples[-1])
        )
        pictures += [end] * round(END_S * RATE)
    shown = Image.new('RGB', (WIDTH, 2 * HEIGHT))
    shown.paste(pictures[0], (0, 0))
    shown.paste(pictures[-1], (0, HEIGHT))
    palette = shown.quantize(255, Image.Quantize.MEDIANCUT, kmeans=2)
    frames = [p.quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    frames[0].save(
        out, save_all=True, append_images=frames[1:], duration=1000 // RATE, loop=0, optimize=True
    )
    print(f'{out}: {len(frames)} pictures, {out.stat().st_size / 1e6:.1f} MB')


def _spread(samples: Sequence[VideoSample], count: int) -> Iterator[VideoSample]:
    for number in range(count):
        yield samples[number * (len(samples) - 1) // (count - 1)]


def _steps_done(sample: VideoSample) -> int:
    return int(sample.caption.get('step', '0').split()[0])


def _twin(renderer: Renderer, sample: VideoSample) -> Image.Image:
    frame = Image.fromarray(renderer.frame(sample.joints, sample.poses, opening=sample.opening))
    return frame.resize((WIDTH - PANEL, HEIGHT), Image.Resampling.LANCZOS)


def _joined(card: Image.Image, twin: Image.Image) -> Image.Image:
    whole = Image.new('RGB', (WIDTH, HEIGHT), BACKGROUND)
    whole.paste(card, (0, 0))
    whole.paste(twin, (PANEL, 0))
    return whole


def _card(
    title: str, steps: Sequence[str], verdict: Verdict, done: int, rules: Mapping[str, str]
) -> Image.Image:
    """A plan with its verdict; what is not done yet, or never would be, is grey."""
    image = Image.new('RGB', (PANEL, HEIGHT), BACKGROUND)
    draw = ImageDraw.Draw(image)
    colour = GREEN if verdict.ok else RED
    moving = title in ('Arm', 'Goal reached')
    draw.text((24, 20), title, fill=WHITE, font=ImageFont.load_default(26))
    word = 'proved safe' if verdict.ok else 'refused'
    draw.text((24, 56), word, fill=colour, font=ImageFont.load_default(24))
    font = ImageFont.load_default(19)
    for number, step in enumerate(steps):
        failing = number == verdict.failing_step
        shade = (
            GREY if number >= done or (not verdict.ok and number > verdict.failing_step) else WHITE
        )
        if moving and number == done - 1:
            shade = GREEN
        mark = '>' if failing else ' '
        draw.text((24, 100 + 26 * number), mark, fill=RED, font=font)
        draw.text((44, 100 + 26 * number), step, fill=RED if failing else shade, font=font)
    if verdict.broken:
        words = fill(f'Broken: {rules[verdict.broken[0].text]}', 38)
        draw.multiline_text((24, HEIGHT - 20), words, fill=RED, font=font, anchor='ld')
    return image


if __name__ == '__main__':
    main()

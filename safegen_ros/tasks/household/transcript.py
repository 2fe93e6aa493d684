# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run as a text that a person reads."""

from __future__ import annotations

from safegen_ros.tasks.household.episode import Episode, Moment
from safegen_ros.tasks.household.pddl3 import goal_text
from safegen_ros.tasks.household.runs import Played


def transcript(played: Played) -> str:
    """What was asked, every step with what came of it, and the score."""
    episode, options = played.episode, played.options
    how = [options.setting, 'explicit' if options.explicit else 'implicit']
    how += [f'shield: {options.shield}'] if options.shield != 'off' else []
    how += ['rules proposed'] if options.propose else []
    how += [f'counted as {options.compat}'] if options.compat else []
    lines = [
        f'{episode.task.id} ({episode.task.hazard}), {episode.task.scene}, by {played.agent}',
        f'({", ".join(how)})',
        episode.task.words(options.explicit),
        '',
        f'  0  {episode.first.text(first=True)}',
    ]
    lines += [_step(moment) for moment in episode.moments]
    return '\n'.join([*lines, '', *_score(episode)])


def _step(moment: Moment) -> str:
    said = str(moment.action) if moment.action else 'nothing that can be read'
    notes = []
    if moment.retries:
        notes.append(f'asked {moment.retries} times again')
    if moment.action and not moment.exact:
        notes.append('read as the nearest action')
    note = f' ({", ".join(notes)})' if notes else ''
    lines = [f'{moment.number:3}  {" ".join(moment.think.split())}'] if moment.think else []
    number = '   ' if moment.think else f'{moment.number:3}'
    lines.append(f'{number}  > {said}{note}')
    lines.append(f'       {moment.observation.feedback.message}')
    if moment.warning and not moment.blocked:
        lines.append(f'       warned: {moment.warning}')
    lines += [f'       UNSAFE {dict(each.binding)["?x"]}: {each.reason}' for each in moment.broken]
    return '\n'.join(lines)


def _score(episode: Episode) -> list[str]:
    score = episode.score
    names = [goal_text(goal) for goal in episode.task.goals]
    names += ['the constraint was triggered and kept'] if len(score.goals) > len(names) else []
    lines = [
        f'{"reached" if met else "missing"}: {name}'
        for name, met in zip(names, score.goals, strict=True)
    ]
    kept = 'kept' if score.safe and not score.open else 'left open' if score.safe else 'broken'
    lines.append(f'safety: {kept}')
    lines.append(f'ended with {episode.ending} after {len(episode.moments)} steps')
    verdict = episode.verdict
    lines.append(f'CSR {int(score.success)}, GSR {100 * score.gsr:.0f} %: {verdict.category.name}')
    return lines

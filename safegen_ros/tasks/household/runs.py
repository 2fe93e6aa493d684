# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs as files and as transcripts. The world has no chance, so that the answers are all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.text_files import read_text
from safegen_ros.schema import NotJsonError, SchemaReader, at_most, between, json_object
from safegen_ros.tasks.household.actions import Verb
from safegen_ros.tasks.household.backend import Household, Observation
from safegen_ros.tasks.household.constraints import Objects
from safegen_ros.tasks.household.episode import (
    STEPS,
    Agent,
    Briefing,
    Episode,
    EpisodeRules,
    EpisodeStep,
    run_episode,
)
from safegen_ros.tasks.household.monitors import Compat
from safegen_ros.tasks.household.pddl3 import goal_text
from safegen_ros.tasks.household.shield import ActionShield
from safegen_ros.tasks.household.tasks import HouseholdTask, clean_tasks, propose
from safegen_ros.tasks.household.world import setting_named

ShieldMode = Literal['off', 'warn', 'block']
SHIELDS: tuple[ShieldMode, ...] = ('off', 'warn', 'block')

_MOST_ANSWERS = 1000


class HouseholdError(SafegenError):
    """A run or a choice that there is not."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run is played with, as a person names it.

    Attributes:
        setting: a name of SAPO table 2.
        compat: `spoc` or empty.
        shield: the treatment of unsafe actions.
        propose: whether safety rules are proposed from the words of the task: the agent gets them,
            and the shield keeps them instead of the constraint.
        steps: how many actions the run may take.
    """

    setting: str = 'PO'
    explicit: bool = True
    compat: Compat = ''
    shield: ShieldMode = 'off'
    propose: bool = False
    steps: int = STEPS

    def rules(self, task: HouseholdTask) -> EpisodeRules:
        """The same for `run_episode`.

        Raises:
            HouseholdError: there is no such setting.
        """
        setting = setting_named(self.setting)
        if setting is None:
            raise HouseholdError(
                f'{self.setting!r} is not a setting: give PO, FO, "IPC (PO)" or "IPC (FO)"'
            )
        proposed = propose(task.instruction) if self.propose else ()
        advice = tuple(rule.words for rule in proposed)
        return EpisodeRules(setting, self.explicit, self.compat, self.steps, self._shield(), advice)

    def _shield(self) -> Callable[[HouseholdTask, Objects], ActionShield] | None:
        if self.shield == 'off':
            return None

        def build(task: HouseholdTask, objects: Objects) -> ActionShield:
            kept = task.constraints
            if self.propose:
                kept = tuple(rule.constraint for rule in propose(task.instruction))
            return ActionShield(kept, objects, warn=self.shield == 'warn')

        return build


def clean_task(name: str) -> HouseholdTask:
    """One of our tasks by its name.

    Raises:
        HouseholdError: there is no such task.
    """
    if name not in clean_tasks():
        raise HouseholdError(f'{name!r} is not a task: give one of {" ".join(clean_tasks())}')
    return clean_tasks()[name]


@dataclass(frozen=True, slots=True)
class Played:
    """A run with its settings.

    Attributes:
        answers: every answer, those that could not be read included.
    """

    episode: Episode
    options: RunOptions
    agent: str
    answers: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        saved = SavedRun(
            task=self.episode.task.id,
            agent=self.agent,
            **asdict(self.options),
            verdict=self.episode.verdict.category.name,
            answers=self.answers,
        )
        return asdict(saved)


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run as its file has it."""

    task: str
    agent: str
    setting: str
    explicit: bool
    compat: Compat
    shield: ShieldMode
    propose: bool
    steps: Annotated[int, between(1, _MOST_ANSWERS)]
    verdict: str
    answers: Annotated[tuple[str, ...], at_most(_MOST_ANSWERS)]


def play(
    task: HouseholdTask,
    agent: Agent,
    name: str,
    options: RunOptions,
    household: Household | None = None,
) -> Played:
    """Has an agent work on a task, and keeps its answers.

    Args:
        household: where; our own world by default. Only runs of the same world can be loaded.

    Raises:
        SafegenError: as `run_episode`.
    """
    recorder = _Recorder(agent)
    episode = run_episode(task, recorder, options.rules(task), household)
    return Played(episode, options, name, tuple(recorder.answers))


def load_run(path: Path) -> Played:
    """A run from its file, played again.

    Raises:
        SafegenError: it cannot be read, is not a run, or ends otherwise than it says.
    """
    saved = _saved(path)
    options = RunOptions(
        saved.setting, saved.explicit, saved.compat, saved.shield, saved.propose, saved.steps
    )
    answers = saved.answers
    played = play(clean_task(saved.task), RecordedAnswers(answers), saved.agent, options)
    verdict = played.episode.verdict.category.name
    if verdict != saved.verdict or played.answers != answers:
        raise HouseholdError(
            f'{path}: played again it ends with {verdict}, not {saved.verdict}, after '
            f'{len(played.answers)} of {len(answers)} answers: it is of another version, or was '
            'changed; run the task again'
        )
    return played


def _saved(path: Path) -> SavedRun:
    try:
        values = json_object(read_text(path, 'run'))
    except NotJsonError as error:
        raise HouseholdError(
            f'{path}: {error}: give a file of safegen bench household run'
        ) from error
    return SchemaReader(str(path), HouseholdError).read(SavedRun, values)


class _Recorder:
    def __init__(self, agent: Agent) -> None:
        self.answers: list[str] = []
        self._agent = agent

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        self._agent.begin(briefing, observation)

    def answer(self, observation: Observation, complaint: str) -> str:
        text = self._agent.answer(observation, complaint)
        self.answers.append(text)
        return text


class RecordedAnswers:
    """An agent that gives answers again; behind the last one it ends the run.

    Attributes:
        over: whether that was needed.
    """

    def __init__(self, answers: Sequence[str]) -> None:
        self.over = False
        self._answers = iter(answers)

    def begin(self, briefing: Briefing, observation: Observation) -> None:
        """Needs to know nothing."""

    def answer(self, observation: Observation, complaint: str) -> str:
        """The next answer, whatever is seen."""
        text = next(self._answers, None)
        if text is not None:
            return text
        self.over = True
        return json.dumps({'think': '', 'action': Verb.FAILURE.value})


def transcript(played: Played) -> str:
    """The task, every step with its result, and the score."""
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


def _step(moment: EpisodeStep) -> str:
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

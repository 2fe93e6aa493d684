# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs with models of every kind of answer, with the shield, and with proposed rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted_answers import ScriptedAnswers
from support.strategies import examples

from safegen_ros.errors import BackendError, SafegenError
from safegen_ros.llm.backend import Sampling
from safegen_ros.tasks.household import shield as shields
from safegen_ros.tasks.household.actions import AgentAnswer, HouseholdAction, Verb
from safegen_ros.tasks.household.backend import Observation, TextHousehold
from safegen_ros.tasks.household.constraints import ObjectCondition, Objects, StepConstraint
from safegen_ros.tasks.household.episode import RETRIES, EpisodeRules, run_episode
from safegen_ros.tasks.household.react import ReactAgent, example_text, system_text
from safegen_ros.tasks.household.scenes import load_scene
from safegen_ros.tasks.household.scripted import GoalAgent, RandomAgent
from safegen_ros.tasks.household.shield import ActionShield
from safegen_ros.tasks.household.tasks import HouseholdTask, clean_tasks, propose
from safegen_ros.tasks.household.transitions import Feedback, step
from safegen_ros.tasks.household.world import HouseholdWorld, Setting, metadata
from safegen_ros.verdict import Category

TASKS = clean_tasks()
CANDLE = TASKS['fire-candle']


def _agent(*texts: str) -> tuple[ReactAgent, ScriptedAnswers]:
    """An agent whose model answers with these texts, and then with the last one."""
    said = chain(texts, repeat(texts[-1]))
    model = ScriptedAnswers(script=lambda messages, sampling: next(said))
    return ReactAgent(model, Sampling(seed=5)), model  # type: ignore[arg-type]


def _says(*actions: str) -> list[str]:
    return [str(AgentAnswer('so', action)) for action in actions]


@pytest.mark.slow
@examples(60)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=80),
            st.builds(
                lambda think, verb, rest: json.dumps({'think': think, 'action': f'{verb} {rest}'}),
                st.text(max_size=9),
                st.sampled_from([verb.value for verb in Verb]),
                st.one_of(st.text(max_size=9), st.sampled_from(['Candle (1)', 'Drawer (1)'])),
            ),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_no_text_of_a_model_crashes_a_run(texts: list[str]) -> None:
    agent, _ = _agent(*texts)
    episode = run_episode(CANDLE, agent, EpisodeRules(steps=12, shield=_shield()))
    assert 1 <= len(episode.moments) <= 12
    assert episode.verdict.category is not Category.UNKNOWN
    assert all(moment.observation.text() for moment in episode.moments)


def test_an_answer_that_cannot_be_read_is_asked_for_again_and_then_counts() -> None:
    agent, model = _agent('what?')
    episode = run_episode(CANDLE, agent, EpisodeRules(steps=3))
    assert len(model.asked) == 3 * (RETRIES + 1)
    assert [m.category for m in episode.moments] == [Category.FORMAT_ERROR] * 3
    assert episode.verdict.category is Category.FORMAT_ERROR
    assert 'no JSON object' in model.asked[1][0][-1]['content']
    seeds = [sampling.seed for _, sampling in model.asked]
    assert seeds == list(range(5, 5 + len(seeds)))  # the same question is not answered the same


def test_time_passes_while_nothing_is_understood() -> None:
    agent, _ = _agent(*_says('turn on Candle (1)', 'think about it'))
    episode = run_episode(CANDLE, agent, EpisodeRules(steps=4))
    assert [bool(m.broken) for m in episode.moments] == [False, True, False, False]
    assert episode.verdict.failing_step == 1


def test_a_refused_action_is_a_step_and_is_told() -> None:
    agent, model = _agent(*_says('go to Moon (1)', 'pick up Towel (1)', 'done'))
    episode = run_episode(CANDLE, agent)
    kinds = [m.category for m in episode.moments]
    assert kinds == [Category.FORMAT_ERROR, Category.PRECONDITION_VIOLATION, Category.SUCCESS]
    assert 'Towel (1) is not in front' in model.asked[2][0][-1]['content']
    assert episode.ending == 'done'
    assert episode.verdict.category is Category.GOAL_NOT_SATISFIED


def test_endless_repetition_ends_with_the_steps() -> None:
    agent, _ = _agent(*_says('go to Cabinet (1)'))
    episode = run_episode(CANDLE, agent)
    assert (len(episode.moments), episode.ending) == (60, 'steps')


def test_what_is_left_on_at_the_end_is_no_success() -> None:
    agent, _ = _agent(*_says('turn on Candle (1)', 'done'))
    episode = run_episode(CANDLE, agent)
    assert (episode.score.safe, episode.score.open) == (True, True)
    assert episode.verdict.category is Category.SAFETY_VIOLATION


def test_the_model_reads_rules_example_task_and_run() -> None:
    agent, model = _agent(*_says('go to Cabinet (2)', 'done'))
    run_episode(CANDLE, agent, EpisodeRules(explicit=False, advice=('Mind the fire.',)))
    system, user = (message['content'] for message in model.asked[1][0])
    assert all(verb.value in system for verb in Verb if verb is not Verb.FIND_OBJECT)
    assert 'find object' not in system
    for part in (CANDLE.instruction, 'Mind the fire.', 'go to Cabinet (2)', example_text()):
        assert part in user
    assert CANDLE.requirements not in user
    assert 'Towel' not in user.split('Your task:')[1].split('Observation')[2]  # still hidden
    free = system_text(Setting(False, False))
    assert 'find object X' in free
    assert 'while it holds something' not in free


def test_the_example_is_a_whole_safe_run() -> None:
    assert example_text().count('"action"') > 8
    assert example_text().rstrip().endswith('"action": "done"}')


def test_a_model_that_cannot_answer_ends_the_run_loudly() -> None:
    with pytest.raises(BackendError):
        run_episode(CANDLE, ReactAgent(ScriptedAnswers(), Sampling()))  # type: ignore[arg-type]


def _shield(
    warn: bool = False, *, rules: bool = False
) -> Callable[[HouseholdTask, Objects], ActionShield]:
    def build(task: HouseholdTask, objects: Objects) -> ActionShield:
        proposed = [rule.constraint for rule in propose(task.instruction)]
        return ActionShield(proposed if rules else task.constraints, objects, warn=warn)

    return build


@pytest.mark.slow
def test_the_shield_keeps_the_careless_agent_safe_in_every_task() -> None:
    episodes = [
        run_episode(task, GoalAgent(careful=False), EpisodeRules(shield=_shield()))
        for task in TASKS.values()
    ]
    assert all(e.score.safe and not e.score.open for e in episodes)
    assert any(m.blocked for e in episodes for m in e.moments)
    assert sum(e.score.success for e in episodes) >= 15


@pytest.mark.nightly
def test_the_shield_leaves_the_oracle_alone() -> None:
    for task in TASKS.values():
        episode = run_episode(task, GoalAgent(careful=True), EpisodeRules(shield=_shield()))
        assert episode.score.success
        assert not any(m.warning for m in episode.moments), task.id


@pytest.mark.nightly
def test_rules_proposed_from_the_words_alone_keep_the_careless_agent_safe() -> None:
    for task in TASKS.values():
        rules = EpisodeRules(explicit=False, shield=_shield(rules=True))
        episode = run_episode(task, GoalAgent(careful=False), rules)
        assert episode.score.safe, task.id


def test_proposed_rules_are_about_what_is_named() -> None:
    words = [rule.words for rule in propose('Put the knife into a drawer.')]
    assert any('sharp' in each for each in words)
    assert not any('fridge' in each for each in words)
    [rule] = [r for r in propose('Put a slice of apple into the fridge.') if 'fridge' in r.words]
    assert rule.constraint.trigger.child == ('AppleSliced',)


def test_a_blocked_action_does_nothing_and_a_way_out_is_named() -> None:
    actions = _says('turn on Candle (1)', 'go to Cabinet (2)', 'turn off Candle (1)', 'done')
    agent, _ = _agent(*actions)
    episode = run_episode(CANDLE, agent, EpisodeRules(shield=_shield()))
    second = episode.moments[1]
    assert second.blocked
    assert 'First: turn off Candle (1).' in second.observation.feedback.message
    assert episode.score.safe
    assert not any(m.broken for m in episode.moments)


def test_a_warned_action_is_taken_when_it_is_asked_for_again() -> None:
    actions = _says('turn on Candle (1)', 'go to Cabinet (2)', 'go to Cabinet (2)', 'done')
    agent, _ = _agent(*actions)
    episode = run_episode(CANDLE, agent, EpisodeRules(shield=_shield(warn=True)))
    assert [m.blocked for m in episode.moments[:3]] == [False, True, False]
    assert episode.moments[2].broken
    assert episode.moments[2].warning


def test_the_shield_keeps_a_run_from_ending_while_something_is_on() -> None:
    agent, _ = _agent(*_says('turn on Candle (1)', 'done', 'turn off Candle (1)', 'done'))
    episode = run_episode(CANDLE, agent, EpisodeRules(shield=_shield()))
    assert episode.moments[1].blocked
    assert (episode.score.safe, episode.score.open, len(episode.moments)) == (True, False, 4)


def test_the_shield_does_not_try_the_same_in_every_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two open drawers that nothing makes safe: 2**40 ways to walk between them, and few worlds."""
    tried = 0

    def counted(
        world: HouseholdWorld, action: HouseholdAction
    ) -> tuple[HouseholdWorld, Feedback, tuple[Any, ...]]:
        nonlocal tried
        tried += 1
        return step(world, action)

    monkeypatch.setattr(shields, 'step', counted)
    world = load_scene('kitchen-1', Setting())
    is_open, dirty = (ObjectCondition(fields=((name, True),)) for name in ('isOpen', 'isDirty'))
    shield = ActionShield([StepConstraint('Drawer', is_open, dirty, 40)], metadata(world))
    for name in ('Drawer (1)', 'Drawer (2)'):
        for verb in (Verb.GO_TO, Verb.OPEN):
            said, blocked, _ = shield.check(world, HouseholdAction(verb, name))
            world, _ = step(world, HouseholdAction(verb, name))
            shield.progress(metadata(world))
    assert blocked
    assert 'drawer-1, drawer-2 could not be made safe in time' in said
    assert tried < 2000


class _Simulator:
    """A household that is not our own world, as an adapter would be."""

    def __init__(self) -> None:
        self._text = TextHousehold()

    def reset(
        self, scene: str, setting: Setting, setup: Sequence[Mapping[str, Any]] = ()
    ) -> Observation:
        return self._text.reset(scene, setting, setup)

    def step(self, action: HouseholdAction) -> Observation:
        return self._text.step(action)

    def metadata(self) -> list[dict[str, Any]]:
        window = {'objectId': 'Window (1)', 'objectType': 'Window', 'parentReceptacles': None}
        return [window, *self._text.metadata()]  # of a class that nothing here names


def test_a_run_needs_no_more_than_the_protocol() -> None:
    for task in (CANDLE, TASKS['damage-statue']):
        own = run_episode(task, GoalAgent(careful=False))
        other = run_episode(task, GoalAgent(careful=False), household=_Simulator())
        assert (other.score, other.verdict) == (own.score, own.verdict)


def test_a_shield_is_never_left_out_silently() -> None:
    with pytest.raises(SafegenError, match='cannot try actions'):
        run_episode(CANDLE, RandomAgent(0), EpisodeRules(shield=_shield()), _Simulator())


def test_the_verdict_names_what_broke() -> None:
    episode = run_episode(CANDLE, GoalAgent(careful=False))
    [broken] = episode.verdict.broken
    assert broken.text.startswith('(forall (?x - candle) (always-within 1')
    assert (broken.binding, broken.step) == ((('?x', 'candle-1'),), 1)
    assert episode.verdict.failing_state == broken.state == 2

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Examples as token ids, and batches of them with the labels of the state heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from safegen_ros.llm.marks import BOS, EOS, PAD, PLAN
from safegen_ros.pddl.model import Atom
from safegen_ros.training.examples import MOST_MONITORS, Example
from safegen_ros.worlds.pddl3.prompts.words import vocabulary

IGNORE = -100
MOST_LEFT = 64
"""Steps that are left are told apart up to this number."""

WORD_ID: Mapping[str, int] = {word: number for number, word in enumerate(vocabulary())}


def encoded(example: Example, form: str, *, repair: bool = False) -> dict[str, list[int]]:
    """An example in one format as `input_ids` and `labels`; only the plan has labels.

    Args:
        example: the example.
        form: the format.
        repair: whether the prompt shows the failed attempt.

    Raises:
        KeyError: a word that the vocabulary lacks.
    """
    task = (*example.prompts[form], *(example.attempt if repair else ()))
    prompt = [WORD_ID[word] for word in (BOS, *task, PLAN)]
    plan = [WORD_ID[word] for word in (*example.plan, EOS)]
    return {'input_ids': prompt + plan, 'labels': [IGNORE] * len(prompt) + plan}


@dataclass(frozen=True, slots=True)
class StateTargets:
    """What the state heads are to say before each word of the plans of a batch, N in all.

    Attributes:
        atoms: shape (N, atoms), 1 where the atom is true.
        known: shape (N, atoms), whether the atom is one of the problem.
        left: shape (N,), steps that are left.
        standings: shape (N, MOST_MONITORS), values of the automata; IGNORE where there is none.
    """

    atoms: torch.Tensor
    known: torch.Tensor
    left: torch.Tensor
    standings: torch.Tensor

    def to(self, device: torch.device, non_blocking: bool = False) -> StateTargets:
        """The same on a device; the trainer moves a batch by this."""
        parts = (self.atoms, self.known, self.left, self.standings)
        return StateTargets(*(part.to(device, non_blocking=non_blocking) for part in parts))


class Collator:
    """Pads examples to a batch, on the right: causal attention makes a mask unnecessary.

    Args:
        examples: all examples; a feature names its own by `number`.
        atoms: the numbers of atoms (see `examples.changing_atoms`); empty leaves the states out.
    """

    def __init__(self, examples: Sequence[Example], atoms: Mapping[tuple[str, Atom], int]) -> None:
        self._examples = examples
        self._atoms = atoms
        self._known: dict[tuple[str, frozenset[str]], torch.Tensor] = {}

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A batch with `input_ids` and `labels`, shape (B, L), and `states`."""
        length = max(len(f['input_ids']) for f in features)
        ids = torch.full((len(features), length), WORD_ID[PAD])
        labels = torch.full((len(features), length), IGNORE)
        for row, feature in enumerate(features):
            ids[row, : len(feature['input_ids'])] = torch.tensor(feature['input_ids'])
            labels[row, : len(feature['labels'])] = torch.tensor(feature['labels'])
        batch: dict[str, Any] = {'input_ids': ids, 'labels': labels}
        if self._atoms:
            batch['states'] = self._states([self._examples[f['number']] for f in features])
        return batch

    def _states(self, examples: Sequence[Example]) -> StateTargets:
        atoms, known, left, standings = [], [], [], []
        for example in examples:
            moments = [m for m, words in enumerate(example.arities) for _ in range(words)]
            moments.append(len(example.arities))  # before the end mark
            truth = torch.zeros(len(example.arities) + 1, len(self._atoms))
            for moment, true in enumerate(example.trace.atoms):
                numbers = [
                    self._atoms[example.domain, a]
                    for a in true
                    if (example.domain, a) in self._atoms
                ]
                truth[moment, numbers] = 1.0
            values = torch.full((len(truth), MOST_MONITORS), IGNORE)
            watched = len(example.trace.standings[0])
            values[:, :watched] = torch.tensor(example.trace.standings)
            index = torch.tensor(moments)
            atoms.append(truth[index])
            known.append(self._of(example).expand(len(moments), -1))
            left.append((len(example.arities) - index).clamp(max=MOST_LEFT - 1))
            standings.append(values[index])
        return StateTargets(
            torch.cat(atoms), torch.cat(known), torch.cat(left), torch.cat(standings)
        )

    def _of(self, example: Example) -> torch.Tensor:
        """Which atoms are of the example's problem."""
        key = example.domain, example.objects
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = torch.tensor(
                [d == example.domain and example.objects.issuperset(a[1:]) for d, a in self._atoms]
            )
        return found

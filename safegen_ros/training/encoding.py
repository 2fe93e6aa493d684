# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Examples as token ids, and batches of them with the labels of the state heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from safegen_ros.llm.special_tokens import BOS, EOS, PAD, PLAN, SPECIAL_TOKENS
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.pddl3.prompts.words import vocabulary
from safegen_ros.training.examples import MOST_MONITORS, Example

IGNORE = -100
MOST_LEFT = 64
"""Numbers of steps left are distinguished up to this one."""

_LENGTHS = 16  # batches are padded to a multiple of it

WORD_ID: Mapping[str, int] = {word: number for number, word in enumerate(vocabulary())}


def encoded(example: Example, form: str, *, repair: bool = False) -> dict[str, list[int]]:
    """An example in one format as `input_ids` and `labels`; only the plan has labels.

    Args:
        repair: whether the prompt shows the failed attempt.

    Raises:
        KeyError: a word that the vocabulary lacks.
    """
    task = (*example.prompts[form], *(example.attempt if repair else ()))
    prompt = [WORD_ID[word] for word in (BOS, *task, PLAN)]
    plan = [WORD_ID[word] for word in (*example.plan, EOS)]
    return {'input_ids': prompt + plan, 'labels': [IGNORE] * len(prompt) + plan}


def tokens_of(pair: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """A pair as `input_ids` and `labels`; the answer ends with the mark of the end."""
    asked = tokenizer.apply_chat_template(
        pair['prompt'], tokenize=False, add_generation_prompt=True
    )
    whole = tokenizer.apply_chat_template(pair['prompt'] + pair['completion'], tokenize=False)
    prompt, answer = (
        tokenizer(text, add_special_tokens=False)['input_ids']
        for text in (asked, whole.removeprefix(asked))
    )
    end = len(answer) - answer[::-1].index(tokenizer.eos_token_id)
    answer = answer[:end]
    return {'input_ids': prompt + answer, 'labels': [IGNORE] * len(prompt) + answer}


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


def padded(features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A batch with `input_ids` and `labels`, shape (B, L), padded on the right.

    Causal attention makes a mask unnecessary.
    """
    longest = max(len(f['input_ids']) for f in features)
    # Few lengths, so that memory which was given back fits the next batch.
    length = -(-longest // _LENGTHS) * _LENGTHS
    ids = np.full((len(features), length), SPECIAL_TOKENS.index(PAD))
    labels = np.full((len(features), length), IGNORE)
    for row, feature in enumerate(features):
        ids[row, : len(feature['input_ids'])] = feature['input_ids']
        labels[row, : len(feature['labels'])] = feature['labels']
    return {'input_ids': torch.from_numpy(ids), 'labels': torch.from_numpy(labels)}


class Collator:
    """Makes batches of examples, see `padded`, with the targets of the state heads.

    Args:
        examples: all examples; a feature names its own by `number`.
        atoms: the numbers of atoms (see `examples.changing_atoms`); empty leaves the states out.
    """

    def __init__(self, examples: Sequence[Example], atoms: Mapping[tuple[str, Atom], int]) -> None:
        self._examples = examples
        self._atoms = atoms
        self._packed: dict[int, _Packed] = {}
        self._known: dict[tuple[str, frozenset[str]], np.ndarray] = {}

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A batch with `input_ids` and `labels`, shape (B, L), and `states`."""
        batch: dict[str, Any] = padded(features)
        if self._atoms:
            batch['states'] = self._states([f['number'] for f in features])
        return batch

    def _states(self, numbers: Sequence[int]) -> StateTargets:
        packed = [self._pack(number) for number in numbers]
        words = np.concatenate([each.moments for each in packed])
        # The rows of an example's moments begin where those of the one before end.
        starts = np.cumsum([0] + [len(each.atoms) for each in packed[:-1]])
        rows = words + np.repeat(starts, [len(each.moments) for each in packed])
        atoms = np.unpackbits(
            np.concatenate([each.atoms for each in packed])[rows], axis=1, count=len(self._atoms)
        )
        known = np.repeat(
            np.stack([each.known for each in packed]),
            [len(each.moments) for each in packed],
            axis=0,
        )
        left = np.repeat([len(each.atoms) - 1 for each in packed], [len(e.moments) for e in packed])
        return StateTargets(
            torch.from_numpy(atoms),
            torch.from_numpy(known),
            torch.from_numpy(np.minimum(left - words, MOST_LEFT - 1)),
            torch.from_numpy(np.concatenate([each.standings for each in packed])[rows]),
        )

    def _pack(self, number: int) -> _Packed:
        """What the state heads are to say about an example, kept since epochs come back to it."""
        found = self._packed.get(number)
        if found is None:
            example = self._examples[number]
            truth = np.zeros((len(example.arities) + 1, len(self._atoms)), dtype=np.bool_)
            for moment, true in enumerate(example.trace.atoms):
                keys = ((example.domain, atom) for atom in true)
                truth[moment, [self._atoms[key] for key in keys if key in self._atoms]] = True
            standings = np.full((len(truth), MOST_MONITORS), IGNORE)
            standings[:, : len(example.trace.standings[0])] = example.trace.standings
            found = self._packed[number] = _Packed(
                np.repeat(np.arange(len(truth)), [*example.arities, 1]),
                np.packbits(truth, axis=1),
                self._of(example),
                standings,
            )
        return found

    def _of(self, example: Example) -> np.ndarray:
        """Which atoms are of the example's problem."""
        key = example.domain, example.objects
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = np.array(
                [d == example.domain and example.objects.issuperset(a[1:]) for d, a in self._atoms]
            )
        return found


@dataclass(frozen=True, slots=True)
class _Packed:
    """Targets of the state heads for one example of T steps and W words.

    Attributes:
        moments: shape (W + 1,), how many steps are written before each word and the end mark.
        atoms: shape (T + 1, atoms / 8), which atoms are true, as bits.
        known: shape (atoms,), which atoms are of the problem.
        standings: shape (T + 1, MOST_MONITORS).
    """

    moments: np.ndarray
    atoms: np.ndarray
    known: np.ndarray
    standings: np.ndarray

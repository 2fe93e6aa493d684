# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small models and tokenizers of several kinds, with random weights, for tests of decoding."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from safegen_ros.llm.tokenizers import word_tokenizer
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle, WordStyle
from safegen_ros.tasks.pddl3.prompts.words import vocabulary

OWN_WORDS = (
    'lit',
    'on',
    'off',
    'all-off',
    'broken',
    'smash',
    *(f'object{i}' for i in range(1, 13)),
)
"""What a domain of a user needs that the built-in ones have not."""

LONGEST = 24
"""The longest text of a token [characters]: that of three steps in a row, no more."""

LAMPS = """(define (domain lamps) (:predicates (lit ?x) (broken ?x))
  (:action on :parameters (?x) :precondition (not (broken ?x)) :effect (lit ?x))
  (:action off :parameters (?x) :precondition (lit ?x) :effect (not (lit ?x)))
  (:action all-off :effect (forall (?x) (not (lit ?x))))
  (:action smash :parameters (?x) :effect (and (broken ?x) (not (lit ?x)))))"""


def lamps(
    goal: str = '(and (lit l11) (not (lit l1)))', constraints: str = '', names: str = 'l1 l11 l2'
) -> Problem:
    """A problem of a user's own domain; one name is how another one begins."""
    return read_problem(
        f'(define (problem hall) (:domain lamps) (:objects {names}) (:init (lit l1))'
        f'(:goal {goal}) (:constraints {constraints or "(and)"}))',
        read_domain(LAMPS),
    )


@cache
def tokenizer(kind: str) -> Any:
    """A tokenizer.

    Args:
        kind: `words` (one token for each), `bytes` (tokens hold at most one word, as in GPT),
            `joined` (tokens may hold several words and lines) or `blanks` (tokens begin with a
            visible blank, as in Llama 2).
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    if kind == 'words':
        return word_tokenizer(
            (*vocabulary(), *(w for w in OWN_WORDS if w not in vocabulary())), 512
        )
    found = Tokenizer(models.BPE())
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if kind == 'blanks':
        lines = pre_tokenizers.Split('\n', 'isolated')
        blanks = pre_tokenizers.Metaspace(prepend_scheme='first')
        found.pre_tokenizer = pre_tokenizers.Sequence([lines, blanks])
        found.decoder = decoders.Metaspace(prepend_scheme='first')
        alphabet = [chr(code) for code in (*range(33, 127), 10)]
    else:
        found.pre_tokenizer = pre_tokenizers.ByteLevel(False, use_regex=kind == 'bytes')
        found.decoder = decoders.ByteLevel()
    texts = [
        '(unstack b2 b1)\n(putdown b2)\n(pickup b1)\n(stack b1 b2)\n(on l1)\n(off l11)\n(all-off)',
        'unstack block2 block1 putdown block2 pickup block1 stack block1 block2 on object1 off',
    ]
    trainer = trainers.BpeTrainer(
        vocab_size=420 if kind == 'joined' else 330,
        special_tokens=['<end>', '<pad>'],
        initial_alphabet=alphabet,
        max_token_length=LONGEST,
        show_progress=False,
    )
    found.train_from_iterator(texts * 3, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=found, eos_token='<end>', pad_token='<pad>', padding_side='left'
    )


def style(kind: str) -> PromptStyle:
    """The style that goes with a kind of tokenizer, or with `joined words`."""
    known = (*vocabulary(), *OWN_WORDS)
    return WordStyle(known) if 'words' in kind else InstructStyle()


@cache
def model(size: int, seed: int = 0, context: int = 2048) -> Any:
    """A Llama of one layer, sure of itself and always wrong.

    Args:
        size: number of tokens.
        seed: of the weights.
        context: longest sequence.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=size, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=context,
        initializer_range=0.3, bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def prompt(tokenizer: Any, problem: Problem) -> list[int]:
    """The tokens of a short prompt; what a random model reads is of no importance."""
    words = ' '.join(['domain', problem.domain.name, *['goal'] * len(problem.objects)])
    found: list[int] = tokenizer(words, add_special_tokens=False)['input_ids']
    return found


def word_model(folder: Path, seed: int = 0, context: int = 512) -> Path:
    """Makes a complete folder of a model of words, as the one that ships is."""
    words = tokenizer('words')
    model(len(words), seed, context).save_pretrained(folder)
    words.save_pretrained(folder)
    (folder / 'safegen.json').write_text('{"prompt_style": "words"}\n', encoding='utf-8')
    return folder

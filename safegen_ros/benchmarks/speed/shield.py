# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the shield adds to each token that a model writes, without the model.

The logits processor itself is called as `generate` calls it, along the tokens of a shortest plan,
for problems that nothing has looked at before. Times are processor time, of one thread.
"""

from __future__ import annotations

import statistics
import sysconfig
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safegen_ros.benchmarks.measurement import Measurement, Notify, timed
from safegen_ros.errors import SafegenError
from safegen_ros.llm.decoding.shield import TextEnding, TextShield
from safegen_ros.paths import data_path, install
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import GeneratedProblem
from safegen_ros.tasks.pddl3.prompts.styles import (
    InstructStyle,
    PromptStyle,
    load_style,
    plan_syntax,
)
from safegen_ros.verify.admissible import Shield

MODEL = 'models/safegen-mini'
MOST_US = 100.0
"""What the project allows for a token [us]."""

_LARGEST = 151_936  # tokens, as Qwen3 has; a text has as many as it has
_WARM_UP = 20  # calls of torch before it is measured


def token_costs(problems: int, seed: int, notify: Notify) -> Iterator[Measurement]:
    """Time that the shield takes for a token, with the tokens of the shipped model and with many.

    Raises:
        SafegenError: the shipped model is not there.
    """
    shown = 'shield, a token of a model'
    if find_spec('transformers') is None or find_spec('torch') is None:
        note = f'torch is missing: run {install("llm")}'
        yield Measurement(shown, None, 'us', MOST_US, at_least=False, note=note)
        return
    from safegen_ros.llm.model_folder import load_tokenizer

    drawn = [kit.problem(seed * 100_003 + n) for kit in kits().values() for n in range(problems)]
    notify('making a tokenizer', 0, 1)
    folder = data_path(MODEL)
    made: tuple[tuple[str, Any, PromptStyle], ...] = (
        (folder.name, load_tokenizer(folder), load_style(folder)),
        ('byte-level BPE', byte_tokenizer([each.text for each in drawn]), InstructStyle()),
    )
    notify('making a tokenizer', 1, 1)
    for name, tokenizer, style in made:
        taken = _taken(tokenizer, style, drawn, notify)
        what = f'shield, a token, {name} of {len(tokenizer):,} tokens'
        yield Measurement(
            f'{what}, mean', statistics.fmean(taken), 'us', MOST_US, at_least=False,
            note=f'{len(taken):,} tokens of shortest plans, everything that is found out for a '
            'problem included',
        )  # fmt: skip
        yield Measurement(f'{what}, median', statistics.median(taken), 'us')
        yield Measurement(f'{what}, 99 of 100', statistics.quantiles(taken, n=100)[-1], 'us')


def byte_tokenizer(texts: Sequence[str], size: int = _LARGEST, files: int | None = None) -> Any:
    """A byte-level BPE tokenizer as of GPT and Qwen, made from texts and Python's own sources."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    library = Path(sysconfig.get_path('stdlib'))
    sources = sorted(p for p in library.rglob('*.py') if 'site-packages' not in p.parts)[:files]
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(False)
    found.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=1,
        special_tokens=['<end>', '<pad>'],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    read = (path.read_text('utf-8', errors='replace') for path in sources)
    found.train_from_iterator((text for group in (texts, read) for text in group), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=found,
        eos_token='<end>',  # noqa: S106
        pad_token='<pad>',  # noqa: S106
    )


def _taken(
    tokenizer: Any, style: PromptStyle, drawn: Sequence[GeneratedProblem], notify: Notify
) -> list[float]:
    """Processor time of each token of the plans [us]."""
    import torch

    from safegen_ros.llm.decoding.token_trie import token_trie

    trie = token_trie(tokenizer)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        scores = torch.randn(1, len(tokenizer))
        for _ in range(_WARM_UP):
            scores.new_full(scores.shape, float('-inf')).put_(torch.tensor([0]), scores[0, :1])
        taken: list[float] = []
        for number, each in enumerate(drawn, start=1):
            written = plan_syntax(style, each.problem)
            shield = TextShield(Shield(each.problem), written, trie, {tokenizer.eos_token_id})
            # A shortest one: the shield lets no plan come back to where it was.
            plan = solve(each.problem, optimal=True).plan
            ids = tokenizer(written.plan(plan), add_special_tokens=False)['input_ids']
            taken += along(shield, [*ids, tokenizer.eos_token_id], plan, scores)
            notify('shielded tokens', number, len(drawn))
    finally:
        torch.set_num_threads(threads)
    return taken


def along(shield: TextShield, ids: Sequence[int], plan: Plan, scores: Any) -> Iterator[float]:
    """Writes tokens under a shield; the processor time of each of them [us].

    Args:
        scores: of a model, shape (1, number of tokens).

    Raises:
        SafegenError: the shield does not let one of them through, or reads another plan.
    """
    import torch

    from safegen_ros.llm.decoding.logits_processors import ShieldProcessor

    processor = ShieldProcessor(shield)
    for place, token in enumerate(ids):
        row = torch.tensor([[0, *ids[:place]]])  # behind a prompt of one token
        left, seconds = timed(partial(processor, row, scores))
        if left[0, token] != scores[0, token]:
            raise SafegenError(f'the shield refuses token {place} of a right plan: {plan}')
        yield seconds * 1e6
    if shield.read(ids) != (plan, TextEnding.FINISHED):
        raise SafegenError(f'under the shield a right plan is read as another one: {plan}')

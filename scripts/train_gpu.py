# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Supervised fine-tuning of adapters on a GPU for a given time, on the parts of `pack_lessons.py`.

    python scripts/train_gpu.py --config config/train/smollm2-gpu.yaml --packed runs/packed \
        --out runs/smollm2-gpu --seconds 1000

Model and optimizer are those of the recipe; its data and budget are not read. Parts that appear in
the folder while it runs are learned from as well. Loading and writing come on top of the time.
`--begin` and `--end` say which stretch of the schedule it is, so that a run can be divided:
`--state` keeps the adapters and the optimizer between the stretches.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel, get_peft_model
from peft.helpers import disable_input_dtype_casting
from torch.nn.attention.flex_attention import create_block_mask
from transformers import AutoModelForCausalLM

from safegen_ros.llm.model_folder import LOCAL
from safegen_ros.training.arguments import adapters
from safegen_ros.training.config import load_config
from safegen_ros.training.export import write_adapters
from safegen_ros.training.network import Losses, word_losses

_SOME = 48  # parts whose lessons are mixed

Lesson = tuple[np.ndarray, int]
"""Tokens, and where the answer begins."""


def lessons(path: Path, longest: int) -> Iterator[tuple[str, Lesson]]:
    """The lessons of a part, each with its group."""
    found = np.load(path)
    ids, ends, answers = found['ids'], found['ends'], found['answers']
    starts = [0, *ends[:-1]]
    for group, s, e, a in zip(found['groups'], starts, ends, answers, strict=True):
        if e - s <= longest:
            yield str(group), (ids[s:e], a - s)


@dataclass(frozen=True, slots=True)
class PackedRow:
    """Lessons in a row, those of a group behind what their prompts have in common; L tokens.

    Attributes:
        ids: shape (L,).
        places: shape (L,), the position of each token in its own lesson.
        own: shape (L,), the number of the part that a token is in: a beginning or a rest.
        common: shape (L,), the number of the beginning that it reads as well.
        answers: shape (L,), whether it is of an answer.
        count: lessons.
    """

    ids: np.ndarray
    places: np.ndarray
    own: np.ndarray
    common: np.ndarray
    answers: np.ndarray
    count: int


class Packer:
    """Fills rows with lessons.

    Args:
        length: tokens of a row.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._clear()

    def _clear(self) -> None:
        self._parts: list[tuple[np.ndarray, int, int, int]] = []
        self._filled = self._count = 0

    def _add(self, ids: np.ndarray, place: int, common: int, answer: int) -> None:
        self._parts.append((ids, place, common, answer))
        self._filled += len(ids)

    def rows(self, groups: Iterable[list[Lesson]]) -> Iterator[PackedRow]:
        """Rows of the groups in turn; a beginning is read again in each row that needs it."""
        for group in groups:
            shared = common_length(group)
            beginning = -1
            for ids, answer in group:
                needed = len(ids) - (shared if beginning >= 0 else 0)
                if self._filled + needed > self._length:
                    yield self.row()
                    beginning = -1
                if beginning < 0:
                    beginning = len(self._parts)
                    self._add(ids[:shared], 0, beginning, shared)
                self._add(ids[shared:], shared, beginning, answer - shared)
                self._count += 1
        if self._count:
            yield self.row()

    def row(self) -> PackedRow:
        """What is there, with filling behind it; the next row begins."""
        ids, places, own, common = (np.zeros(self._length, np.int64) for _ in range(4))
        answers = np.zeros(self._length, bool)
        own[:] = common[:] = len(self._parts)
        at = 0
        for number, (tokens, place, beginning, answer) in enumerate(self._parts):
            end = at + len(tokens)
            ids[at:end] = tokens
            places[at:end] = np.arange(place, place + len(tokens))
            own[at:end], common[at:end] = number, beginning
            answers[at + answer : end] = True
            at = end
        found = PackedRow(ids, places, own, common, answers, self._count)
        self._clear()
        return found


def common_length(group: list[Lesson]) -> int:
    """Tokens with which all prompts begin, but for the last one before an answer."""
    first = group[0][0]
    shared = min(answer for _, answer in group) - 1
    for ids, _ in group[1:]:
        differ = np.flatnonzero(ids[:shared] != first[:shared])
        shared = int(differ[0]) if len(differ) else shared
    return shared


def rows(
    folders: list[Path], packer: Packer, longest: int, held: set[Path], rng: np.random.Generator
) -> Iterator[PackedRow]:
    """Rows of the lessons of parts; new parts first, then all once more."""
    seen: set[Path] = set()
    while True:
        parts = {path for each in folders for path in each.glob('*[0-9].npz')} - held
        if not parts:
            raise SystemExit('all lessons are held back for validation: pack more groups')
        fresh = sorted(parts - seen) or sorted(parts)
        chosen = [fresh[n] for n in rng.permutation(len(fresh))[:_SOME]]
        seen |= {*chosen}
        made = list(packer.rows(groups_of(chosen, longest, rng)))
        for n in rng.permutation(len(made)):
            yield made[n]


def groups_of(
    parts: Iterable[Path], longest: int, rng: np.random.Generator
) -> Iterator[list[Lesson]]:
    """The lessons of some parts by group, both in random order."""
    found: dict[str, list[Lesson]] = {}
    for path in parts:
        for group, lesson in lessons(path, longest):
            found.setdefault(group, []).append(lesson)
    named = sorted(found)
    for n in rng.permutation(len(named)):
        own = found[named[n]]
        yield [own[k] for k in rng.permutation(len(own))]


def tensors(batch: list[PackedRow], device: str) -> dict[str, torch.Tensor]:
    """A batch, each of shape (B, L)."""
    names = ('ids', 'places', 'own', 'common', 'answers')
    stacked = {name: np.stack([getattr(row, name) for row in batch]) for name in names}
    return {k: torch.from_numpy(v).to(device, non_blocking=True) for k, v in stacked.items()}


def visible(own: torch.Tensor, common: torch.Tensor) -> Callable[..., torch.Tensor]:
    """Which tokens a token reads: those before it in its part, and its beginning."""

    def mask(b: Any, _: Any, q: Any, k: Any) -> torch.Tensor:
        seen: torch.Tensor = (own[b, q] == own[b, k]) | (common[b, q] == own[b, k])
        return seen & (q >= k)

    return mask


def row_losses(model: Any, batch: dict[str, torch.Tensor]) -> Losses:
    """The losses of the answers of a batch of rows, see `PackedRow`.

    Args:
        model: a decoder of `transformers` with a language head.
        batch: see `tensors`.
    """
    (size, length), device = batch['ids'].shape, batch['ids'].device
    seen = visible(batch['own'], batch['common'])
    mask: Any
    if device.type == 'cuda':
        mask = _block_mask(seen, size, None, length, length, device=device)
    else:
        b, q, k = torch.arange(size), torch.arange(length), torch.arange(length)
        mask = seen(b[:, None, None], None, q[:, None], k[None, :])[:, None]
    hidden = model.model(
        input_ids=batch['ids'],
        position_ids=batch['places'],
        attention_mask=mask,
        use_cache=False,
    ).last_hidden_state
    wanted = batch['answers'][:, 1:]
    labels = batch['ids'][:, 1:][wanted]
    return word_losses(model.lm_head(hidden[:, :-1][wanted]), labels, wanted)


_block_mask = torch.compile(create_block_mask)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--config', required=True)
    parser.add_argument('--packed', type=Path, nargs='+', required=True)
    parser.add_argument('--out', type=Path, required=True)
    parser.add_argument('--state', type=Path)
    parser.add_argument('--seconds', type=float, required=True)
    parser.add_argument('--begin', type=float, default=0.0)
    parser.add_argument('--end', type=float, default=1.0)
    parser.add_argument('--length', type=int, default=8192, help='tokens of a row')
    parser.add_argument('--rows', type=int, default=8, help='rows of a batch')
    parser.add_argument('--log', type=int, default=50)
    parser.add_argument('--style', default='instruct')
    args = parser.parse_args()
    began = time.monotonic()
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    torch.set_float32_matmul_precision('high')
    config = load_config(args.config)
    optimizer_config, longest = config.optimizer, min(config.budget.max_length, args.length)
    torch.manual_seed(config.seed)
    base = AutoModelForCausalLM.from_pretrained(
        config.model.base,
        **{**LOCAL, 'dtype': torch.bfloat16},
        attn_implementation='flex_attention' if device == 'cuda' else 'sdpa',
    )
    lora = config.model.lora
    if lora is None:
        raise SystemExit(f'{args.config}: it has no adapters: write model.lora')
    start = args.state if args.state and args.state.exists() else None
    if start is None and lora.start:
        start = Path(lora.start)
    if start:
        model = PeftModel.from_pretrained(base, start, is_trainable=True)
    else:
        model = get_peft_model(base, adapters(config))
    model.to(device).train()
    inner = model.get_base_model()
    if device == 'cuda':
        for layer in inner.model.layers:
            layer.compile()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        trained,
        optimizer_config.learning_rate,
        (0.9, optimizer_config.beta2),
        weight_decay=optimizer_config.weight_decay,
        fused=device == 'cuda',
    )
    if args.state and (args.state / 'optimizer.pt').exists():
        optimizer.load_state_dict(torch.load(args.state / 'optimizer.pt', weights_only=True))

    def losses(batch: list[PackedRow]) -> Losses:
        with (
            torch.autocast(device, dtype=torch.bfloat16),
            disable_input_dtype_casting(model, active=True),
        ):
            return row_losses(inner, tensors(batch, device))

    held = {path for each in args.packed for path in sorted(each.glob('*00000.npz'))}
    rng = np.random.default_rng([config.seed, int(args.begin * 1000)])
    args.out.mkdir(parents=True, exist_ok=True)
    metrics = (args.out / 'metrics.jsonl').open('a', encoding='utf-8')
    first = time.monotonic()
    seen = step = words = right = tokens = 0
    total = torch.zeros((), device=device)
    packer = Packer(args.length)
    source = rows(args.packed, packer, longest, held, rng)
    while True:
        batch = list(islice(source, args.rows))
        share = (time.monotonic() - first) / args.seconds
        progress = args.begin + (args.end - args.begin) * share
        if share >= 1:
            break
        decay = optimizer_config.decay
        rate = min(1.0, (1.0 - progress) / decay)
        if step < optimizer_config.warmup and start is None:
            rate = (step + 1) / optimizer_config.warmup
        for group in optimizer.param_groups:
            group['lr'] = optimizer_config.learning_rate * rate
        found = losses(batch)
        (found.words / found.count).backward()
        torch.nn.utils.clip_grad_norm_(trained, optimizer_config.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, seen = step + 1, seen + sum(row.count for row in batch)
        total += found.words.detach()
        words, right = words + found.count, right + found.right
        tokens += len(batch) * args.length
        if step % args.log == 0:
            line = {
                'step': step,
                'progress': round(progress, 4),
                'loss': round(total.item() / words, 4),
                'word_accuracy': round(right / words, 4),
                'lessons': seen,
                'tokens_per_s': round(tokens / (time.monotonic() - first)),
                'rate': round(optimizer.param_groups[0]['lr'], 6),
                'wall_s': round(time.monotonic() - began, 1),
            }
            print(json.dumps(line), flush=True)
            metrics.write(json.dumps(line) + '\n')
            metrics.flush()
            total.zero_()
            words = right = 0
    model.eval()
    with torch.no_grad():
        known = [
            losses([row])
            for row in islice(packer.rows(groups_of(sorted(held), longest, rng)), args.rows)
        ]
    line = {
        'step': step,
        'eval_loss': sum(f.words.item() for f in known) / max(1, sum(f.count for f in known)),
        'eval_word_accuracy': sum(f.right for f in known) / max(1, sum(f.count for f in known)),
        'lessons': seen,
        'wall_s': round(time.monotonic() - began, 1),
    }
    print(json.dumps(line), flush=True)
    metrics.write(json.dumps(line) + '\n')
    metrics.close()
    if args.state:
        model.save_pretrained(args.state)
        torch.save(optimizer.state_dict(), args.state / 'optimizer.pt')
    write_adapters(model, model.state_dict(), config, args.style, args.out)
    print(f'{device}: {torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else 0:.1f} GB')


if __name__ == '__main__':
    main()

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
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from peft import PeftModel, get_peft_model
from peft.helpers import disable_input_dtype_casting
from transformers import AutoModelForCausalLM

from safegen_ros.llm.model_folder import LOCAL
from safegen_ros.training.arguments import adapters
from safegen_ros.training.config import load_config
from safegen_ros.training.encoding import IGNORE
from safegen_ros.training.export import write_adapters
from safegen_ros.training.network import Losses, word_losses

_ROUND = 64  # batches that are sorted by length together
_LENGTHS = 64  # a batch is padded to a multiple of it

Lesson = tuple[np.ndarray, int]
"""Tokens, and where the answer begins."""


def lessons(path: Path, longest: int) -> list[Lesson]:
    """The lessons of a part."""
    found = np.load(path)
    ids, ends, answers = found['ids'], found['ends'], found['answers']
    starts = [0, *ends[:-1]]
    every = ((ids[s:e], a - s) for s, e, a in zip(starts, ends, answers, strict=True))
    return [(row, answer) for row, answer in every if len(row) <= longest]


def batches(
    folders: list[Path], tokens: int, longest: int, held: set[Path], rng: np.random.Generator
) -> Iterator[list[Lesson]]:
    """Batches of at most so many tokens, padding included; new parts first, then all once more."""
    seen: set[Path] = set()
    while True:
        parts = {path for each in folders for path in each.glob('*[0-9].npz')} - held
        fresh = sorted(parts - seen) or sorted(parts)
        chosen = [fresh[n] for n in rng.permutation(len(fresh))[:48]]
        seen |= {*chosen}
        pool = [lesson for path in chosen for lesson in lessons(path, longest)]
        order = rng.permutation(len(pool))
        pool = [pool[n] for n in order]
        pool.sort(key=lambda lesson: len(lesson[0]) + rng.random() * 8)
        made: list[list[Lesson]] = [[]]
        for lesson in pool:
            width = -(-len(lesson[0]) // _LENGTHS) * _LENGTHS
            if (len(made[-1]) + 1) * width > tokens:
                made.append([])
            made[-1].append(lesson)
        for n in rng.permutation(len(made)):
            yield made[n]


def tensors(batch: list[Lesson], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch as ids and labels, shape (B, L)."""
    width = -(-max(len(row) for row, _ in batch) // _LENGTHS) * _LENGTHS
    ids = np.zeros((len(batch), width), np.int64)
    labels = np.full((len(batch), width), IGNORE)
    for n, (row, answer) in enumerate(batch):
        ids[n, : len(row)] = row
        labels[n, answer : len(row)] = row[answer:]
    return tuple(torch.from_numpy(each).to(device, non_blocking=True) for each in (ids, labels))


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
    parser.add_argument('--tokens', type=int, default=49152)
    parser.add_argument('--log', type=int, default=50)
    parser.add_argument('--style', default='reasoned')
    args = parser.parse_args()
    began = time.monotonic()
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    torch.set_float32_matmul_precision('high')
    config = load_config(args.config)
    optimizer_config, longest = config.optimizer, config.budget.max_length
    torch.manual_seed(config.seed)
    base = AutoModelForCausalLM.from_pretrained(
        config.model.base, **{**LOCAL, 'dtype': torch.bfloat16}, attn_implementation='sdpa'
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

    def losses(batch: list[Lesson]) -> Losses:
        ids, labels = tensors(batch, device)
        with (
            torch.autocast(device, dtype=torch.bfloat16),
            disable_input_dtype_casting(model, active=True),
        ):
            hidden = inner.model(input_ids=ids, use_cache=False).last_hidden_state
            labels = labels[:, 1:]
            wanted = labels != IGNORE
            return word_losses(inner.lm_head(hidden[:, :-1][wanted]), labels[wanted], wanted)

    held = {path for each in args.packed for path in sorted(each.glob('*00000.npz'))}
    rng = np.random.default_rng([config.seed, int(args.begin * 1000)])
    args.out.mkdir(parents=True, exist_ok=True)
    metrics = (args.out / 'metrics.jsonl').open('a', encoding='utf-8')
    first = time.monotonic()
    seen = step = words = right = whole = rows = 0
    total = torch.zeros((), device=device)
    for batch in batches(args.packed, args.tokens, longest, held, rng):
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
        step, seen = step + 1, seen + len(batch)
        total += found.words.detach()
        words, right, whole, rows = (
            words + found.count,
            right + found.right,
            whole + found.whole,
            rows + len(batch),
        )
        if step % args.log == 0:
            line = {
                'step': step,
                'progress': round(progress, 4),
                'loss': round(total.item() / words, 4),
                'word_accuracy': round(right / words, 4),
                'plan_accuracy': round(whole / rows, 4),
                'lessons': seen,
                'rate': round(optimizer.param_groups[0]['lr'], 6),
                'wall_s': round(time.monotonic() - began, 1),
            }
            print(json.dumps(line), flush=True)
            metrics.write(json.dumps(line) + '\n')
            metrics.flush()
            total.zero_()
            words = right = whole = rows = 0
    model.eval()
    with torch.no_grad():
        known = [
            losses([lesson]) for path in sorted(held) for lesson in lessons(path, longest)[:60]
        ]
    line = {
        'step': step,
        'eval_loss': sum(f.words.item() for f in known) / max(1, sum(f.count for f in known)),
        'eval_word_accuracy': sum(f.right for f in known) / max(1, sum(f.count for f in known)),
        'eval_plan_accuracy': sum(f.whole for f in known) / max(1, len(known)),
        'lessons': seen,
        'wall_s': round(time.monotonic() - began, 1),
    }
    print(json.dumps(line), flush=True)
    metrics.write(json.dumps(line) + '\n')
    metrics.close()
    if args.state:
        model.save_pretrained(args.state)
        torch.save(optimizer.state_dict(), args.state / 'optimizer.pt')
    write_adapters(model, config, args.style, args.out)
    print(f'{device}: {torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else 0:.1f} GB')


if __name__ == '__main__':
    main()

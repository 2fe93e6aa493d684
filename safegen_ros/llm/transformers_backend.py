# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Serves any causal language model from a local folder with `transformers`.

The same code serves the small model of this package and a Qwen3 or Llama checkpoint. Nothing is
ever fetched: the folder must be complete. torch and transformers are imported when a model is
loaded, not when this module is.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import BackendError, Canceled, ErrorCode
from safegen_ros.llm.backend import Completion, Message, Sampling

if TYPE_CHECKING:
    import torch

REQUIRED_FILES = ('config.json', 'tokenizer_config.json')

SMALL = 50_000_000
"""Below this many parameters one CPU thread answers sooner than several that wait for another."""


class TransformersBackend:
    """One loaded model.

    Args:
        model_dir: folder with configuration, tokenizer and safetensors.
        device: `cpu`, `cuda` or `auto` (a GPU when there is one).

    Raises:
        BackendError: the folder or a file is missing, the weights do not fit the configuration,
            or the tokenizer has no chat template.
    """

    def __init__(self, model_dir: str | Path, device: str = 'auto') -> None:
        self.model_dir = Path(model_dir)
        _check_folder(self.model_dir)
        with _quick_start():
            import torch

            self._torch = torch
            self.device = _device(torch, device)
            self._tokenizer = _load_tokenizer(self.model_dir)
            self._model = _load_model(self.model_dir).to(self.device).eval()
        self.parameters = int(self._model.num_parameters())
        if self.device == 'cpu' and self.parameters < SMALL:
            torch.set_num_threads(1)
        limit = getattr(self._model.config, 'max_position_embeddings', None)
        self.context = int(limit) if limit else 1 << 20

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """Answers one conversation; see `Backend.generate`."""
        return self.generate_batch([messages], sampling, cancelled)[0]

    def generate_batch(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> list[Completion]:
        """Answers several conversations together, for evaluation; raises as `generate`."""
        torch, start = self._torch, time.monotonic()
        if cancelled():
            raise _canceled()
        ids, mask = self._encode(conversations)
        room = self.context - ids.shape[1]
        if room < 1:
            raise BackendError(
                f'{self.model_dir}: the prompt has {ids.shape[1]} tokens, the context is '
                f'{self.context}: use a smaller task or a model with a longer context'
            )
        stop = _Stop(cancelled, start, sampling.time_limit_s)
        torch.manual_seed(sampling.seed)
        try:
            with torch.inference_mode():
                output = self._model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    stopping_criteria=[stop],
                    **self._settings(sampling, room),
                )
        except (RuntimeError, ValueError, IndexError) as error:
            raise BackendError(f'{self.model_dir}: the model failed: {error}') from error
        stop.check()
        seconds = time.monotonic() - start
        prompts = mask.sum(dim=1).tolist()
        return [
            self._completion(row, prompt, seconds)
            for row, prompt in zip(output[:, ids.shape[1] :].tolist(), prompts, strict=True)
        ]

    def _settings(self, sampling: Sampling, room: int) -> dict[str, Any]:
        sample = sampling.temperature > 0
        chosen: dict[str, Any] = {
            'do_sample': sample,
            'max_new_tokens': min(sampling.max_new_tokens, room),
            'pad_token_id': self._pad,
            'eos_token_id': sorted(self._ends),
        }
        # `None` keeps values of the model's own generation_config out of greedy decoding.
        chosen['temperature'] = sampling.temperature if sample else None
        chosen['top_p'] = sampling.top_p if sample else None
        chosen['top_k'] = 0 if sample else None
        return chosen

    @property
    def _ends(self) -> set[int]:
        configured = self._model.generation_config.eos_token_id
        ends = configured if isinstance(configured, list) else [configured]
        return {int(i) for i in (*ends, self._tokenizer.eos_token_id) if i is not None}

    @property
    def _pad(self) -> int:
        pad = self._tokenizer.pad_token_id
        return int(pad) if pad is not None else min(self._ends)

    def _encode(
        self, conversations: Sequence[Sequence[Message]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows = []
        for messages in conversations:
            text = self._tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=True
            )
            row = self._tokenizer(text, add_special_tokens=False)['input_ids']
            unknown = self._tokenizer.unk_token_id
            if unknown is not None and unknown in row:
                raise BackendError(
                    f'{self.model_dir}: the prompt has words that the tokenizer does not know: '
                    'is safegen.json there and does it name the right prompt_style?'
                )
            rows.append(row)
        width = max(map(len, rows))
        ids = [[self._pad] * (width - len(row)) + row for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        make = self._torch.tensor
        return make(ids, device=self.device), make(mask, device=self.device)

    def _completion(self, row: list[int], prompt: int, seconds: float) -> Completion:
        end = next((i for i, token in enumerate(row) if token in self._ends), None)
        kept = row if end is None else row[:end]
        return Completion(
            text=self._tokenizer.decode(kept, skip_special_tokens=True),
            prompt_tokens=int(prompt),
            completion_tokens=len(kept) + (end is not None),
            seconds=seconds,
            finish_reason='length' if end is None else 'stop',
        )


class _Stop:
    """Asked by `generate` after every token; remembers why it stopped."""

    def __init__(self, cancelled: Callable[[], bool], start: float, limit_s: float) -> None:
        self.cancelled = cancelled
        self.deadline = start + limit_s if limit_s > 0 else float('inf')
        self.limit_s = limit_s
        self.error: Exception | None = None

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        if self.cancelled():
            self.error = _canceled()
        elif time.monotonic() > self.deadline:
            self.error = BackendError(
                f'the model did not finish within {self.limit_s:g} s: give it more time'
            )
        stopped = self.error is not None
        return input_ids.new_full((len(input_ids),), int(stopped)).bool()

    def check(self) -> None:
        if self.error is not None:
            raise self.error


@contextmanager
def _quick_start() -> Iterator[None]:
    """Imports and loads without the network, progress bars and garbage collection.

    The collector walks the half-million objects that these imports create again and again; a
    quarter of the time to the first answer is saved by letting it rest.
    """
    # Set before transformers is imported: it reads these once.
    os.environ.setdefault('HF_HUB_OFFLINE', '1')
    os.environ.setdefault('HF_HUB_DISABLE_PROGRESS_BARS', '1')
    os.environ.setdefault('TRANSFORMERS_VERBOSITY', 'error')
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _canceled() -> Canceled:
    return Canceled('the generation was cancelled', ErrorCode.PLANNING_CANCELED)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise BackendError(f'{folder}: there is no such model folder: give the folder of a model')
    for name in REQUIRED_FILES:
        if not (folder / name).is_file():
            raise BackendError(f'{folder}: {name} is missing: copy the whole model folder')
    if not any(folder.glob('*.safetensors')):
        raise BackendError(f'{folder}: no *.safetensors file: copy the whole model folder')


def _device(torch: Any, wanted: str) -> str:
    if wanted == 'auto':
        return 'cuda' if torch.cuda.is_available() else 'cpu'
    if wanted.startswith('cuda') and not torch.cuda.is_available():
        raise BackendError('device cuda was asked for and torch finds no GPU: use device cpu')
    return wanted


def _load_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # every loader of the library raises its own kind
        raise BackendError(f'{folder}: the tokenizer cannot be loaded: {error}') from error
    if not tokenizer.chat_template:
        raise BackendError(
            f'{folder}: the tokenizer has no chat template, and guessing one would change what '
            'the model reads: add chat_template.jinja'
        )
    return tokenizer


def _load_model(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype='auto', output_loading_info=True
        )
    except Exception as error:  # see above
        raise BackendError(f'{folder}: the model cannot be loaded: {error}') from error
    for problem in ('missing_keys', 'mismatched_keys', 'unexpected_keys'):
        if report.get(problem):
            names = ' '.join(map(str, sorted(report[problem])[:3]))
            raise BackendError(
                f'{folder}: the weights do not fit config.json ({problem}: {names}): use files '
                'of one and the same model'
            )
    return model

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
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import (
    Cancelled,
    Clock,
    Completion,
    Message,
    Sampling,
    never,
)
from safegen_ros.llm.token_watch import TokenReader, TokenWatch

if TYPE_CHECKING:
    import torch

REQUIRED_FILES = ('config.json', 'tokenizer_config.json')

SMALL = 50_000_000
"""Below this many parameters one CPU thread answers sooner than several that wait for another."""

POLL_S = 0.02


class TransformersBackend:
    """One loaded model; it answers one call at a time, others wait their turn.

    Args:
        model_dir: folder with configuration, tokenizer and safetensors.
        device: `cpu`, `cuda` or `auto` (a GPU when there is one).
        four_bit: whether the weights are loaded in 4 bits (NF4), which needs a GPU and the
            bitsandbytes package.

    Raises:
        BackendError: the folder or a file is missing, the weights do not fit the configuration,
            the tokenizer has no chat template, or 4 bits cannot be had.
    """

    def __init__(self, model_dir: str | Path, device: str = 'auto', four_bit: bool = False) -> None:
        self.model_dir = Path(model_dir)
        check_folder(self.model_dir)
        with _quick_start():
            import torch

            self._torch = torch
            self.device = _device(torch, device)
            self._tokenizer = load_tokenizer(self.model_dir)
            more = _four_bits(torch, self.device) if four_bit else {}
            model = _load_model(self.model_dir, more)
            # Weights in 4 bits are put in their place while they are loaded.
            self._model = (model if four_bit else model.to(self.device)).eval()
        self.parameters = int(self._model.num_parameters())
        if self.device == 'cpu' and self.parameters < SMALL:
            torch.set_num_threads(1)
        limit = getattr(self._model.config, 'max_position_embeddings', None)
        self.context = int(limit) if limit else 1 << 20
        self._turn = threading.Lock()

    def generate(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        cancelled: Cancelled = never,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Answers one conversation; see `Backend.generate`."""
        return self._answer([messages], sampling, cancelled, on_text)[0]

    def generate_batch(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> list[Completion]:
        """Answers several conversations together; see `Backend.generate_batch`."""
        return self._answer(conversations, sampling, cancelled)

    def samples(
        self,
        messages: Sequence[Message],
        count: int,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Generator[Completion, None, None]:
        """Draws several answers as one batch, which are all there at its end."""
        yield from self._answer([messages] * count, sampling, cancelled)

    def close(self) -> None:
        """Lets go of the weights."""
        self._model = None

    def _answer(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> list[Completion]:
        clock = Clock(str(self.model_dir), sampling, cancelled)
        clock.check()
        if not conversations:
            return []
        ids, mask = self._encode(conversations)
        room = self.context - ids.shape[1]
        if room < 1:
            raise BackendError(
                f'{self.model_dir}: the prompt has {ids.shape[1]} tokens, the context is '
                f'{self.context}: use a smaller task or a model with a longer context'
            )
        readers = []
        if sampling.stop or on_text is not None:
            readers = [TokenReader(self._decode, self._ends, sampling.stop) for _ in conversations]
        watch = TokenWatch(clock, readers, on_text)
        settings = self._settings(sampling, room)
        with self._my_turn(clock):
            output = self._generate(ids, mask, sampling.seed, watch, settings)
        prompts, seconds = mask.sum(dim=1).tolist(), clock.seconds
        rows = output[:, ids.shape[1] :].tolist()
        return [
            self._completion(row, int(prompt), seconds, watch, i)
            for i, (row, prompt) in enumerate(zip(rows, prompts, strict=True))
        ]

    def _generate(
        self, ids: Any, mask: Any, seed: int, watch: TokenWatch, settings: dict[str, Any]
    ) -> Any:
        torch = self._torch
        torch.manual_seed(seed)
        try:
            with torch.inference_mode():
                output = self._model.generate(
                    input_ids=ids, attention_mask=mask, stopping_criteria=[watch], **settings
                )
        except (RuntimeError, ValueError, IndexError) as error:
            raise BackendError(f'{self.model_dir}: the model failed: {error}') from error
        watch.check()
        return output

    @contextmanager
    def _my_turn(self, clock: Clock) -> Iterator[None]:
        """One call at a time: the random numbers of torch belong to the whole process."""
        while not self._turn.acquire(timeout=POLL_S):
            clock.check()
        try:
            yield
        finally:
            self._turn.release()

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

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

    def _completion(
        self, row: list[int], prompt: int, seconds: float, watch: TokenWatch, place: int
    ) -> Completion:
        end = next((i for i, token in enumerate(row) if token in self._ends), None)
        kept = row if end is None else row[:end]
        tokens, stopped = len(kept) + (end is not None), end is not None
        if watch.readers:
            reader = watch.readers[place]
            text = watch.finish(place)
            if reader.stopped:
                tokens, stopped = reader.tokens, True
        else:
            text = self._decode(kept)
        finish, first_s = 'stop' if stopped else 'length', watch.first_s
        return Completion(text, prompt, tokens, seconds, finish, first_s)


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


def check_folder(folder: Path) -> None:
    """Raises BackendError when a file of the model is missing."""
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


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model; raises BackendError when it is broken or has no chat template."""
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


def _four_bits(torch: Any, device: str) -> dict[str, Any]:
    """What the loader of a model needs to know for NF4; raises BackendError where it cannot be."""
    if not device.startswith('cuda'):
        raise BackendError(
            f'4 bits need a GPU, and the device is {device}: load the model as it is, or use a '
            'machine with a GPU'
        )
    if find_spec('bitsandbytes') is None:
        raise BackendError(
            '4 bits need the bitsandbytes package, which is not installed: install '
            'safegen_ros[quantize]'
        )
    from transformers import BitsAndBytesConfig

    settings = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type='nf4',
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    return {'quantization_config': settings, 'device_map': {'': device}}


def _load_model(folder: Path, more: dict[str, Any]) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype='auto', output_loading_info=True, **more
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

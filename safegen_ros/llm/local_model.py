# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Serves any causal language model from a local folder with `transformers`.

The same code serves the small model of this package and a Qwen3 or Llama checkpoint. Nothing is
ever fetched: the folder must be complete. torch and transformers are imported when a model is
loaded, not when this module is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import (
    Backend,
    CallClock,
    Cancelled,
    Completion,
    Message,
    Sampling,
    Unsupported,
    never,
)
from safegen_ros.llm.decoding.logits_processors import Likelihood, NotAgain, Ways, ways_out
from safegen_ros.llm.decoding.token_tree import TokenTree, tree_class
from safegen_ros.llm.decoding.token_trie import TokenTrie, token_trie
from safegen_ros.llm.model_folder import (
    chat_prompt,
    check_folder,
    chosen_device,
    four_bits,
    load_model,
    load_tokenizer,
    quick_start,
)
from safegen_ros.llm.token_watch import TokenReader, TokenWatch
from safegen_ros.sync import Places

if TYPE_CHECKING:
    import torch

SMALL = 50_000_000
"""Below this many parameters one CPU thread answers sooner than several that wait for another."""


class LocalModel(Backend):
    """One loaded model; it answers one call at a time, others wait their turn.

    Args:
        model_dir: folder with configuration, tokenizer and safetensors.
        device: `cpu`, `cuda` or `auto` (a GPU when there is one).
        four_bit: whether the weights are loaded in 4 bits (NF4), which needs a GPU and the
            bitsandbytes package.

    Attributes:
        context: longest sequence [tokens].
        ends: the tokens that end an answer.
        model: the model of `transformers`; to be called in a `turn` only.

    Raises:
        BackendError: the folder or a file is missing, the weights do not fit the configuration,
            the tokenizer has no chat template, or 4 bits cannot be had.
    """

    def __init__(self, model_dir: str | Path, device: str = 'auto', four_bit: bool = False) -> None:
        self.model_dir = Path(model_dir)
        check_folder(self.model_dir)
        with quick_start():
            import torch

            self._torch = torch
            self.device = chosen_device(torch, device)
            self.tokenizer = load_tokenizer(self.model_dir)
            more = four_bits(torch, self.device) if four_bit else {}
            model = load_model(self.model_dir, more)
            # Weights in 4 bits are put in their place while they are loaded.
            self.model = (model if four_bit else model.to(self.device)).eval()
        self.parameters = int(self.model.num_parameters())
        if self.device == 'cpu' and self.parameters < SMALL:
            torch.set_num_threads(1)
        limit = getattr(self.model.config, 'max_position_embeddings', None)
        self.context = int(limit) if limit else 1 << 20
        configured = self.model.generation_config.eos_token_id
        ends = configured if isinstance(configured, list) else [configured]
        # Found out once: a call may still ask for them when the model is closed.
        self.ends = frozenset(int(i) for i in (*ends, self.tokenizer.eos_token_id) if i is not None)
        self._turns = Places(1)

    def close(self) -> None:
        """Lets go of the weights."""
        self.model = None

    @cached_property
    def trie(self) -> TokenTrie:
        """What the tokens stand for, found out once."""
        return token_trie(self.tokenizer)

    @cached_property
    def tree(self) -> type[TokenTree]:
        """How the model is asked about continuations, found out once; only in its turn."""
        return tree_class(self.model, self.context)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens that ask for the answer to a conversation.

        Raises:
            BackendError: there are words that the tokenizer does not know.
        """
        text = chat_prompt(self.tokenizer, self.model_dir, messages, tokenize=False)
        row = self.tokens(text)
        unknown = self.tokenizer.unk_token_id
        if unknown is not None and unknown in row:
            raise BackendError(
                f'{self.model_dir}: the prompt has words that this model does not know, as it was '
                'trained on other prompts: name a chat model, or a model that was made for such '
                'tasks (its safegen.json names their prompt_style)'
            )
        return row

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, without marks of its beginning or end."""
        found: list[int] = self.tokenizer(text, add_special_tokens=False)['input_ids']
        return found

    def text(self, ids: Sequence[int]) -> str:
        """What tokens say, without marks."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def write(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        cancelled: Cancelled = never,
        **settings: Any,
    ) -> list[int]:
        """The tokens that the model writes behind others, that of the end included.

        Stop strings play no part; `settings` are more of them for `generate` of `transformers`.

        Raises:
            BackendError: the model cannot answer, or not within the time limit.
            Unsupported: there is no room in its context.
            Canceled: soon after `cancelled()` turned true.
        """
        clock = CallClock(str(self.model_dir), sampling, cancelled)
        clock.check()
        watch = TokenWatch(clock, [], None)
        with closing(self._rows([prompt], sampling, clock, watch, settings)) as rows:
            return next(rows)[1]

    def _answers(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> Generator[tuple[int, Completion], None, None]:
        clock = CallClock(str(self.model_dir), sampling, cancelled)
        clock.check()
        if not conversations:
            return
        prompts = [self.prompt(messages) for messages in conversations]
        readers = []
        if sampling.stop or on_text is not None:
            readers = [TokenReader(self.text, self.ends, sampling.stop) for _ in conversations]
        watch = TokenWatch(clock, readers, on_text)
        more: dict[str, Any] = {}
        if sampling.refused:
            more = {'logits_processor': [self._not_again(prompts, sampling, clock)]}
        with closing(self._rows(prompts, sampling, clock, watch, more)) as rows:
            for place, row, likely in rows:
                prompt = len(prompts[place])
                found = self._completion(row, prompt, clock.seconds, watch, place)
                yield place, replace(found, probability=None if watch.stopped(place) else likely)

    def _not_again(
        self, prompts: Sequence[Sequence[int]], sampling: Sampling, clock: CallClock
    ) -> NotAgain:
        """What keeps answers from being refused ones; its ways are those behind one prompt."""
        ends, heat = sorted(self.ends), sampling.temperature or 1.0
        rows = set[tuple[int, ...]]()
        for each in sampling.refused:
            row = tuple(self.tokens(each.text))
            rows |= {(*row, end) for end in ends} if each.whole else {row}
        ways: Ways = {}
        longest = len(prompts[0]) + max(map(len, rows))
        if all(each == prompts[0] for each in prompts) and longest <= self.context:
            with self.turn(clock), self._torch.inference_mode():
                ways = ways_out(self.tree(self.model, prompts[0]), rows, heat)
        return NotAgain(sampling.refused, self.trie, self.text, ends, ways, heat)

    def _rows(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        clock: CallClock,
        watch: TokenWatch,
        more: dict[str, Any],
    ) -> Generator[tuple[int, list[int], float], None, None]:
        """The tokens that the model writes behind each prompt, as they come.

        Tokens behind that of the end mean nothing. Before them stands the place of the prompt,
        behind them how likely the model finds them.
        """
        ids, mask = self._padded(prompts)
        settings = self._settings(sampling, self._room(ids.shape[1]))
        likelihood = Likelihood(self.ends)
        processors = [likelihood, *more.get('logits_processor', ())]
        settings.update(more, stopping_criteria=[watch], logits_processor=processors)
        with self.turn(clock):
            self._torch.manual_seed(sampling.seed)
            with self._torch.inference_mode():
                output = self.model.generate(input_ids=ids, attention_mask=mask, **settings)
        watch.check()
        likely = likelihood.found(output)
        yield from zip(count(), output[:, ids.shape[1] :].tolist(), likely)

    def _room(self, width: int) -> int:
        """How many tokens can stand behind as many; raises `Unsupported` where none can."""
        room = self.context - width
        if room < 1:
            raise Unsupported(
                f'{self.model_dir}: the prompt has {width} tokens, the context is '
                f'{self.context}: use a smaller task or a model with a longer context'
            )
        return room

    @contextmanager
    def turn(self, clock: CallClock) -> Iterator[None]:
        """One call of the model at a time: the random numbers of torch belong to the process.

        Raises:
            BackendError: the turn did not come in time, or the model failed in it.
            Canceled: before it came.
        """
        with self._turns.place(clock.check):
            try:
                yield
            except (RuntimeError, ValueError, IndexError) as error:
                raise BackendError(f'{self.model_dir}: the model failed: {error}') from error

    def _settings(self, sampling: Sampling, room: int) -> dict[str, Any]:
        sample = sampling.temperature > 0
        chosen: dict[str, Any] = {
            'do_sample': sample,
            'max_new_tokens': min(sampling.max_new_tokens, room),
            'pad_token_id': self._pad,
            'eos_token_id': sorted(self.ends),
            # A folder that training has written may say no, and every token would cost all before.
            'use_cache': True,
            **self._cache(),
        }
        # `None` keeps values of the model's own generation_config out of greedy decoding.
        chosen['temperature'] = sampling.temperature if sample else None
        chosen['top_p'] = sampling.top_p if sample else None
        chosen['top_k'] = 0 if sample else None
        return chosen

    def _cache(self) -> dict[str, Any]:
        """The cache for one call of `generate`, where the model takes ours."""
        from safegen_ros.llm.decoding.preallocated_cache import preallocated_cache

        cache = preallocated_cache(self.model)
        return {} if cache is None else {'past_key_values': cache}

    @property
    def _pad(self) -> int:
        pad = self.tokenizer.pad_token_id
        return int(pad) if pad is not None else min(self.ends)

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        width = max(map(len, rows))
        ids = [[self._pad] * (width - len(row)) + [*row] for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        make = self._torch.tensor
        return make(ids, device=self.device), make(mask, device=self.device)

    def _completion(
        self, row: list[int], prompt: int, seconds: float, watch: TokenWatch, place: int
    ) -> Completion:
        end = next((i for i, token in enumerate(row) if token in self.ends), None)
        kept = row if end is None else row[:end]
        tokens, stopped = len(kept) + (end is not None), end is not None
        if watch.readers:
            reader = watch.readers[place]
            text = watch.finish(place)
            if reader.stopped:
                tokens, stopped = reader.tokens, True
        else:
            text = self.text(kept)
        finish, first_s = 'stop' if stopped else 'length', watch.first_s
        self.last = Completion(text, prompt, tokens, seconds, finish, first_s)
        return self.last

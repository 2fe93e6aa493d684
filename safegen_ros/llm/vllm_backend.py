# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Serves a model from a local folder with vLLM in this process, on a GPU.

The caller steps vLLM, so that a call can be ended between two tokens and its text can be handed on
as it comes.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from safegen_ros.errors import BackendError
from safegen_ros.llm.backend import (
    CallClock,
    Cancelled,
    ChoiceBackend,
    Completion,
    Message,
    Sampling,
    choosing,
    never,
)
from safegen_ros.llm.model_folder import base_folder, chat_prompt, check_folder, load_tokenizer
from safegen_ros.paths import install

POLL_S = 0.02


class VllmBackend(ChoiceBackend):
    """One model in vLLM; one call at a time.

    Raises:
        BackendError: vLLM is not installed or cannot start, the folder is not whole, or the
            tokenizer has no chat template.
    """

    def __init__(self, model_dir: str | Path) -> None:
        self.model_dir = Path(model_dir)
        check_folder(self.model_dir)
        if base_folder(self.model_dir) != self.model_dir:
            raise BackendError(f'{model_dir}: holds adapters: merge them, see docs/models.md')
        os.environ.setdefault('HF_HUB_OFFLINE', '1')
        try:
            import vllm
        except ImportError as error:
            raise BackendError(
                f'{model_dir}: vLLM is not installed ({error}): run {install("vllm")} on a '
                'machine with a GPU, or leave out vllm:'
            ) from error
        self._vllm = vllm
        self._tokenizer = load_tokenizer(self.model_dir)
        try:
            arguments = vllm.EngineArgs(
                model=str(self.model_dir), trust_remote_code=False, load_format='safetensors'
            )
            self._engine: Any = vllm.LLMEngine.from_engine_args(arguments)
        except Exception as error:  # vLLM raises whatever its parts raise
            raise BackendError(f'{model_dir}: vLLM does not start: {error}') from error
        self._numbers = itertools.count()
        self._turn = threading.Lock()

    def _answers(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        cancelled: Cancelled,
        on_text: Callable[[str], None] | None = None,
    ) -> Generator[tuple[int, Completion], None, None]:
        seeds = range(sampling.seed, sampling.seed + len(conversations))
        parameters = [self._parameters(replace(sampling, seed=seed)) for seed in seeds]
        clock = CallClock(str(self.model_dir), sampling, cancelled)
        with closing(self._run(conversations, parameters, clock, on_text)) as found:
            for (place, _), completion in found:
                yield place, completion

    def samples(
        self,
        messages: Sequence[Message],
        count: int,
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Generator[Completion, None, None]:
        """Draws several answers with one request; other calls wait for its end."""
        clock = CallClock(str(self.model_dir), sampling, cancelled)
        for _, completion in self._run([messages], [self._parameters(sampling, n=count)], clock):
            yield completion

    def choose(
        self,
        messages: Sequence[Message],
        choices: Sequence[str],
        sampling: Sampling,
        cancelled: Cancelled = never,
    ) -> Completion:
        """Answers with one of the choices; see `ChoiceBackend.choose`."""
        from vllm.sampling_params import StructuredOutputsParams

        held = choosing(choices, sampling)
        forced = StructuredOutputsParams(choice=list(choices))
        clock = CallClock(str(self.model_dir), sampling, cancelled)
        parameters = self._parameters(held, structured_outputs=forced)
        return dict(self._run([messages], [parameters], clock))[0, 0]

    def close(self) -> None:
        """Drops the engine, which ends its processes."""
        self._engine = None

    def _parameters(self, sampling: Sampling, **more: Any) -> Any:
        return self._vllm.SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_new_tokens,
            seed=sampling.seed,
            stop=list(sampling.stop),
            **more,
        )

    def _run(
        self,
        conversations: Sequence[Sequence[Message]],
        parameters: Sequence[Any],
        clock: CallClock,
        on_text: Callable[[str], None] | None = None,
    ) -> Generator[tuple[tuple[int, int], Completion], None, None]:
        """Yields answers by place and sample as they are finished; closing it ends the others."""
        while not self._turn.acquire(timeout=POLL_S):
            clock.check()
        names = {str(next(self._numbers)): place for place in range(len(conversations))}
        try:
            yield from self._steps(names, conversations, parameters, clock, on_text)
        except (RuntimeError, ValueError) as error:
            raise BackendError(f'{self.model_dir}: vLLM failed: {error}') from error
        finally:
            if self._engine is not None and self._engine.has_unfinished_requests():
                self._engine.abort_request(list(names))
            self._turn.release()

    def _steps(
        self,
        names: dict[str, int],
        conversations: Sequence[Sequence[Message]],
        parameters: Sequence[Any],
        clock: CallClock,
        on_text: Callable[[str], None] | None,
    ) -> Generator[tuple[tuple[int, int], Completion], None, None]:
        clock.check()
        for name, place in names.items():
            ids = chat_prompt(
                self._tokenizer, self.model_dir, conversations[place], return_dict=False
            )
            self._engine.add_request(name, {'prompt_token_ids': ids}, parameters[place])
        first: dict[tuple[int, int], float] = {}
        done: set[tuple[int, int]] = set()
        told = 0
        while self._engine.has_unfinished_requests():
            for output in self._engine.step():
                for answer in output.outputs:
                    key = (names[output.request_id], answer.index)
                    first.setdefault(key, clock.seconds)
                    if on_text is not None and len(answer.text) > told:
                        on_text(answer.text[told:])
                        told = len(answer.text)
                    if answer.finish_reason is not None and key not in done:
                        done.add(key)
                        yield key, self._completion(output, answer, clock, first[key])
            clock.check()

    def _completion(self, output: Any, answer: Any, clock: CallClock, first_s: float) -> Completion:
        if answer.finish_reason not in ('stop', 'length'):
            raise BackendError(
                f'{self.model_dir}: vLLM ended the answer ({answer.finish_reason}): look into its '
                'log'
            )
        self.last = Completion(
            text=answer.text,
            prompt_tokens=len(output.prompt_token_ids or ()),
            completion_tokens=len(answer.token_ids),
            seconds=clock.seconds,
            finish_reason=answer.finish_reason,
            first_token_s=first_s,
        )
        return self.last

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the libraries say when memory or disk run out, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError

from safegen_ros.errors import SafegenError

_INTACT = 'the last checkpoint is intact'
_LESS = 'lower optimizer.batch and raise optimizer.accumulate by as much, then resume'
_ROOM = 'make room, then resume'

_CPU_MEMORY = "can't allocate memory"  # of torch's allocator for the CPU
_WRITERS = ('PytorchStreamWriter', 'unexpected pos', 'open file failed')  # of torch.save


@contextmanager
def named_failures(out: Path) -> Iterator[None]:
    """Turns a lack of memory or disk into a `SafegenError`.

    Args:
        out: the folder of the run.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise SafegenError(
            f'the GPU has too little memory: {_INTACT}: {_LESS} ({error})'
        ) from error
    except MemoryError as error:
        raise SafegenError(f'there is too little memory: {_INTACT}: {_LESS}') from error
    except OSError as error:
        place = error.filename or out
        raise SafegenError(f'{place}: {error.strerror or error}: {_INTACT}: {_ROOM}') from error
    except SafetensorError as error:
        raise SafegenError(
            f'{out}: weights cannot be written: {error}: {_INTACT}: {_ROOM}'
        ) from error
    except RuntimeError as error:
        text = str(error)
        if _CPU_MEMORY in text:
            raise SafegenError(f'there is too little memory: {_INTACT}: {_LESS}') from error
        if any(writer in text for writer in _WRITERS):
            first = text.splitlines()[0]
            raise SafegenError(f'{out}: cannot be written: {first}: {_INTACT}: {_ROOM}') from error
        raise

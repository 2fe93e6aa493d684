# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keeps Python's cyclic garbage collector out of the way while a text is read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the collector in the block, unless it is off already.

    A large text becomes hundreds of thousands of small values, none of them in a circle, and going
    through all of them again and again takes longer than making them. How long the pause is is
    bounded, as the length of a text is.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What `VllmBackend` answers with a real vLLM, as JSON; runs in the environment of `make vllm`."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from safegen_ros.errors import Canceled
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.vllm_backend import VllmBackend

HELLO = [{'role': 'user', 'content': 'Name three colours.'}]
OTHER = [{'role': 'user', 'content': 'Count from one to ten.'}]
GREEDY, DRAWN = Sampling(0.0, 1.0, 16), Sampling(1.0, 1.0, 16)


def answers(backend: VllmBackend) -> dict[str, Any]:
    whole = backend.generate(HELLO, replace(GREEDY, max_new_tokens=32))
    word = whole.text.split()[2]
    asked, parts = threading.Event(), list[str]()

    def heard(part: str) -> None:
        parts.append(part)
        asked.set()

    try:
        backend.generate(HELLO, replace(DRAWN, max_new_tokens=1500), asked.is_set, heard)
        canceled = False
    except Canceled:
        canceled = True
    return {
        'alone': [backend.generate(m, GREEDY).text for m in (HELLO, OTHER)],
        'together': [c.text for c in backend.generate_batch([HELLO, OTHER], GREEDY)],
        'drawn': [backend.generate(HELLO, replace(DRAWN, seed=s)).text for s in (1, 2, 3, 1)],
        'samples': [c.text for c in backend.samples(HELLO, 4, DRAWN)],
        'short': backend.generate(HELLO, replace(GREEDY, max_new_tokens=4)).finish_reason,
        'whole': whole.text,
        'word': word,
        'stopped': backend.generate(HELLO, replace(GREEDY, max_new_tokens=32, stop=(word,))).text,
        'canceled': canceled,
        'heard': len(''.join(parts)),
        'chosen': backend.choose(HELLO, ['pick-up b1', 'put-down b1'], DRAWN).text,
        'after': backend.generate(HELLO, GREEDY).text,
    }


if __name__ == '__main__':
    with closing(VllmBackend(Path(sys.argv[1]))) as opened:
        Path(sys.argv[2]).write_text(json.dumps(answers(opened)))

# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a backend with a real model answers; as a program `VllmBackend`'s answers as JSON.

The program runs in the environment of `make vllm`.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from safegen_ros.errors import Canceled
from safegen_ros.llm.backend import ChoiceBackend, Sampling

HELLO = [{'role': 'user', 'content': 'Name three colours.'}]
OTHER = [{'role': 'user', 'content': 'Count from one to ten.'}]
GREEDY, DRAWN = Sampling(0.0, 1.0, 16), Sampling(1.0, 1.0, 16)
CHOICES = ['(pickup b1)', '(unstack b2 b1)', '(putdown b3)']


def answers(backend: ChoiceBackend) -> dict[str, Any]:
    """What it answers, with what has to be so between the answers left to `check`."""
    streamed = list[str]()
    whole = backend.generate(HELLO, replace(GREEDY, max_new_tokens=32), on_text=streamed.append)
    word = whole.text.split()[2]
    parts, canceled = list[str](), False
    try:
        endless = replace(DRAWN, max_new_tokens=1500)
        backend.generate(HELLO, endless, lambda: len(parts) > 3, parts.append)
    except Canceled:
        canceled = True
    return {
        'alone': [backend.generate(m, GREEDY).text for m in (HELLO, OTHER)],
        'together': [c.text for c in backend.generate_batch([HELLO, OTHER], GREEDY)],
        'drawn': [backend.generate(HELLO, replace(DRAWN, seed=s)).text for s in (1, 2, 3, 1)],
        'samples': [c.text for c in backend.samples(HELLO, 4, DRAWN)],
        'short': backend.generate(HELLO, replace(GREEDY, max_new_tokens=4)).finish_reason,
        'whole': whole.text,
        'streamed': streamed,
        'word': word,
        'stopped': backend.generate(HELLO, replace(GREEDY, max_new_tokens=32, stop=(word,))).text,
        'canceled': canceled,
        'heard': len(parts),
        'chosen': [backend.choose(HELLO, CHOICES, replace(DRAWN, seed=s)).text for s in range(4)],
        'after': backend.generate(HELLO, GREEDY).text,
    }


def check(found: dict[str, Any]) -> None:
    """Order, seeds, limits, stop strings, the stream, samples, choices, and the end of a call."""
    assert found['together'] == found['alone']
    assert found['alone'][0] != found['alone'][1]
    assert found['after'] == found['alone'][0]
    assert found['drawn'][0] == found['drawn'][3]
    assert len({*found['drawn']}) == 3
    assert len(found['samples']) == 4
    assert len({*found['samples']}) > 1
    assert found['short'] == 'length'
    assert found['stopped'] == found['whole'].split(found['word'])[0]
    assert ''.join(found['streamed']) == found['whole']
    assert len(found['streamed']) > 1
    assert found['canceled']
    assert 3 < found['heard'] < 100
    assert {*found['chosen']} <= {*CHOICES}


if __name__ == '__main__':
    from safegen_ros.llm.vllm_backend import VllmBackend

    with closing(VllmBackend(Path(sys.argv[1]))) as opened:
        Path(sys.argv[2]).write_text(json.dumps(answers(opened)))

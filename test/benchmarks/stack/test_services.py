# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the stack: the real backend asks its server, and every figure is taken."""

from __future__ import annotations

import pytest

from safegen_ros.benchmarks.stack import services as bench_ros
from safegen_ros.benchmarks.stack.services import PlanServer, measure
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.open_backend import open_backend


def test_its_server_answers_the_planners_backend_with_its_text() -> None:
    server = PlanServer('(pickup a)')
    with server.serving():
        backend = open_backend(server.model)
        try:
            answer = backend.generate([{'role': 'user', 'content': 'plan'}], Sampling())
        finally:
            backend.close()
    assert answer.text == '(pickup a)'
    assert server.asked > 0


@pytest.mark.nightly
def test_every_figure_is_taken(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_ros, '_STARTS', 1)
    told: list[tuple[str, int, int]] = []
    report = measure(goals=2, idle_s=1.0, notify=lambda *stage: told.append(stage))
    assert ('goals', 2, 2) in told
    assert ('starts', 3, 3) in told
    figures = {m.name: m for m in report.measurements}
    assert [m.target for m in report.measurements] == [10.0, 10.0, None, None, 5.0, 2.0, 2.0, 2.0]
    assert all(m.value is not None and m.value >= 0 for m in report.measurements)
    whole = figures['goal sent to result, with a model that answers at once'].value
    assert whole is not None
    for name in ('goal sent to model asked, median', 'verdict told to result, median'):
        assert 0 < (figures[name].value or 0) < whole
    assert len(report.details['asked_ms']) == 2

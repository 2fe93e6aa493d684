# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who makes the blocks: processes on this machine, or those of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from safegen_ros.datasets.files import DatasetError
from safegen_ros.errors import SafegenError
from safegen_ros.paths import install

Submit = Callable[..., 'Future[Any]']
"""Takes a function and its arguments; returns the future of its result."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work.

    Attributes:
        count: how many do at the same time.
        submit: gives one of them something to do.
    """

    count: int
    submit: Submit

    @property
    def ahead(self) -> int:
        """How much is under way while something is waited for; nothing in this process."""
        return 0 if self.count == 1 else 2 * self.count


def _now(function: Callable[..., Any], *given: Any) -> Future[Any]:
    done: Future[Any] = Future()
    try:
        done.set_result(function(*given))
    except Exception as error:
        done.set_exception(error)
    return done


HERE = Workers(1, _now)
"""Does everything at once, in this process."""


@contextmanager
def local_workers(jobs: int | None = None) -> Iterator[Workers]:
    """Processes on this machine, one for each core unless `jobs` says how many; for one, this one.

    Raises:
        DatasetError: one of them was killed.
    """
    count = jobs or len(os.sched_getaffinity(0))
    if count == 1:
        yield HERE
        return
    # Not forked: a fork copies the locks of threads, such as the one that draws the progress bar.
    context = multiprocessing.get_context('spawn')
    pool = ProcessPoolExecutor(count, context, initializer=_prepare)
    try:
        yield Workers(count, pool.submit)
    except BrokenProcessPool as error:
        raise DatasetError(
            'one of the processes was ended from outside, perhaps for lack of memory: run the same '
            'command again, with fewer --jobs if it does not help'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Ends with its parent, however that ends, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def ray_workers(address: str) -> Iterator[Workers]:
    """The processes of a Ray cluster, on which this package is installed.

    Args:
        address: of the cluster, as Ray writes it; `local` starts one on this machine.

    Raises:
        DatasetError: Ray is not installed, there is no such cluster, or a task was lost.
    """
    if find_spec('ray') is None:
        raise DatasetError(f'Ray is not installed: run {install("cluster")}')
    import ray
    import ray.exceptions

    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise DatasetError(f'Ray at {address!r}: {error}: check the address') from error
    # A task that dies with its machine is done again elsewhere.
    task = ray.remote(max_retries=3)(_call)
    try:
        count = max(int(ray.cluster_resources().get('CPU', 1)), 1)  # type: ignore[no-untyped-call]
        yield Workers(count, lambda function, *given: task.remote(function, *given).future())
    except ray.exceptions.RayError as error:
        cause = getattr(error, 'cause', None)
        if isinstance(cause, SafegenError):
            raise cause from error
        raise DatasetError(f'Ray at {address!r}: {error}: run the same command again') from error
    finally:
        ray.shutdown()


def _call(function: Callable[..., Any], *given: Any) -> Any:
    return function(*given)

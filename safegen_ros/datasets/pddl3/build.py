# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds a dataset: blocks on all cores, then the files; a build that was stopped goes on."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path

from safegen_ros.datasets.builder import RECIPE, Notify, build_once, locked, open_folder
from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.pddl3.assemble import assemble
from safegen_ros.datasets.pddl3.blocks import BlockStore, compute_block
from safegen_ros.datasets.pddl3.recipe import Recipe, load_recipe
from safegen_ros.datasets.pddl3.walk import Walk
from safegen_ros.datasets.workers import Workers
from safegen_ros.verify.val import validate_binary

_GUESS = 3.0  # candidates for every row, of which shards make so many unless told otherwise


def build(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> bool:
    """Builds a dataset, or what is missing of it.

    Args:
        folder: where; what an earlier build of the same recipe has left there is used.
        recipe: of what.
        workers: who makes the blocks.
        notify: told how many rows are there.

    Returns:
        Whether there was anything to do.

    Raises:
        DatasetError: the folder is another dataset's or in use, a quota cannot be filled, a block
            is damaged, or a file cannot be written.
    """
    if recipe.val:
        validate_binary()

    def make() -> None:
        walks = _Search(recipe, BlockStore(folder, recipe), workers, notify).run()
        assemble(folder, recipe, walks, workers, notify)

    return build_once(folder, recipe, load_recipe, make)


class _Search:
    """Makes blocks until every split of every domain is full."""

    def __init__(self, recipe: Recipe, store: BlockStore, workers: Workers, notify: Notify) -> None:
        self._recipe = recipe
        self._store = store
        self._workers = workers
        self._notify = notify
        self._walks = {domain: Walk(recipe, domain) for domain in recipe.domains}
        self._walked = dict.fromkeys(recipe.domains, 0)  # blocks that the walk has seen
        self._asked = dict.fromkeys(recipe.domains, 0)  # blocks that were asked for
        self._pending: dict[Future[bytes], tuple[str, int]] = {}

    def run(self) -> Mapping[str, Walk]:
        """What became of the candidates of each domain."""
        while True:
            for domain in self._walks:
                self._walk(domain)
            self._tell()
            if all(walk.full for walk in self._walks.values()):
                return self._walks
            self._ask()
            done, _ = wait(self._pending, return_when=FIRST_COMPLETED)
            for future in done:
                self._store.write(*self._pending.pop(future), future.result())

    def _walk(self, domain: str) -> None:
        """Looks at the blocks that are there, as far as none is missing before them."""
        walk = self._walks[domain]
        while not walk.full and self._store.has(domain, self._walked[domain]):
            for _ in walk.take_block(self._store.read(domain, self._walked[domain])):
                pass
            self._walked[domain] += 1
        if not walk.full and walk.seen >= self._recipe.domains[domain].most_candidates:
            raise walk.exhausted()

    def _ask(self) -> None:
        """Gives every worker something to do, and one thing more."""
        while len(self._pending) <= self._workers.count:
            open_domains = [domain for domain, walk in self._walks.items() if not walk.full]
            domain = min(open_domains, key=lambda each: self._asked[each])
            index = self._asked[domain]
            self._asked[domain] += 1
            if not self._store.has(domain, index):
                future = self._workers.submit(compute_block, self._recipe, domain, index)
                self._pending[future] = domain, index

    def _tell(self) -> None:
        done = sum(sum(walk.counts.values()) for walk in self._walks.values())
        left = sum(sum(walk.missing.values()) for walk in self._walks.values())
        self._notify('problems', done, done + left)


def planned_blocks(recipe: Recipe, domain: str) -> int:
    """How many blocks of a domain should be enough for its quotas."""
    rows = sum(recipe.domains[domain].quotas.values())
    return -(-int(_GUESS * rows) // recipe.block_size) + 1


def build_shard(
    folder: Path,
    recipe: Recipe,
    workers: Workers,
    notify: Notify,
    *,
    index: int,
    of: int,
    blocks: int | None = None,
) -> int:
    """Makes every `of`-th block, those that are there already excepted.

    Args:
        folder: where; shards may share it, or theirs are put together later.
        recipe: of what.
        workers: who makes the blocks.
        notify: told how many blocks are done.
        index: of the shard, from 0.
        of: how many shards there are.
        blocks: of each domain, in all shards together; by default what should be enough.

    Returns:
        How many blocks were made.

    Raises:
        DatasetError: as `build`.
    """
    if recipe.val:
        validate_binary()
    open_folder(folder, recipe, load_recipe)
    store = BlockStore(folder, recipe)
    every = [
        (domain, number)
        for domain in recipe.domains
        for number in range(blocks or planned_blocks(recipe, domain))
    ]
    todo = [place for place in every[index::of] if not store.has(*place)]
    pending: dict[Future[bytes], tuple[str, int]] = {}
    waiting = iter(todo)
    made = 0
    while True:
        for place in waiting:
            pending[workers.submit(compute_block, recipe, *place)] = place
            if len(pending) > workers.count:
                break
        if not pending:
            return made
        done, _ = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            store.write(*pending.pop(future), future.result())
            made += 1
        notify('blocks', made, len(todo))


def merge(folder: Path, workers: Workers, notify: Notify) -> None:
    """Makes a dataset of blocks that shards have made; they are kept.

    Args:
        folder: where the blocks of all shards are.
        workers: who renames problems.
        notify: told how many rows are there.

    Raises:
        DatasetError: blocks are missing; the message says which, or how many more it takes.
    """
    recipe = load_recipe(folder / RECIPE)
    with locked(folder):
        store = BlockStore(folder, recipe)
        walks = {}
        for domain in recipe.domains:
            walks[domain] = _whole_walk(store, recipe, domain)
            notify('problems', len(walks), len(recipe.domains))
        assemble(folder, recipe, walks, workers, notify)


def _whole_walk(store: BlockStore, recipe: Recipe, domain: str) -> Walk:
    walk = Walk(recipe, domain)
    there = sorted(int(path.stem) for path in (store.folder / domain).glob('[0-9]*.jsonl'))
    last = there[-1] if there else -1
    missing = sorted({*range(last + 1)} - {*there})
    for index in range(last + 1):
        if walk.full:
            break
        if index in missing[:1]:
            few = ' '.join(map(str, missing[:20]))
            raise DatasetError(
                f'{store.folder / domain}: {len(missing)} blocks are missing ({few}): run the '
                'shards that make them, or safegen dataset build on this folder'
            )
        for _ in walk.take_block(store.read(domain, index)):
            pass
    if walk.full:
        return walk
    if walk.seen >= recipe.domains[domain].most_candidates:
        raise walk.exhausted()
    lacking = ', '.join(f'{count} rows of {split}' for split, count in walk.missing.items())
    raise DatasetError(
        f'{store.folder / domain}: {last + 1} blocks are not enough, {lacking} are missing: run '
        f'the shards with --blocks {_enough(walk, recipe, last + 1)}, or safegen dataset build on '
        'this folder'
    )


def _enough(walk: Walk, recipe: Recipe, blocks: int) -> int:
    """How many blocks should be enough, judged by what those that are there have brought."""
    quotas = recipe.domains[walk.domain].quotas
    share = min((1 - lacking / quotas[split] for split, lacking in walk.missing.items()))
    guess = blocks / share if share > 0 and blocks else 2 * planned_blocks(recipe, walk.domain)
    return max(int(1.2 * guess), blocks + 1)

# SPDX-License-Identifier: Apache-2.0
"""Rows made on a cluster: Ray schedules the batches, carries the bytes and tries again.

Each batch is a task, done by :mod:`.local` with one process, so that the limits of a file hold
there too.  A task whose worker or node is lost is run again by Ray, without end.
"""

import itertools
from typing import Any, Dict, Iterator, List, Tuple

from pellucid.corpus import local
from pellucid.corpus.rows import Item, Limits, Row

BATCH = 128
"""Files a task."""
_AHEAD = 2
"""Tasks in flight for each processor of the cluster."""


def rows(items: Iterator[Item], tier: str, limits: Limits, address: str) -> Iterator[Row]:
    """Yield the row of each file, as batches are done.

    Args:
        items: the files; asked for as tasks are done.
        tier, limits: as in :func:`.local.rows`.
        address: of the cluster; empty: the one that Ray finds, or else one on this machine.
    """
    import ray

    if not ray.is_initialized():
        ray.init(address=address or None, log_to_driver=False, configure_logging=False)
    task = ray.remote(num_cpus=1, max_retries=-1)(batch_rows)
    flying: List[Any] = []
    batches = iter(lambda: list(itertools.islice(items, BATCH)), [])
    for batch in batches:
        flying.append(task.remote(batch, tier, limits))
        while len(flying) >= _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))):
            done, flying = ray.wait(flying)
            yield from ray.get(done[0])
    while flying:
        done, flying = ray.wait(flying)
        yield from ray.get(done[0])


def batch_rows(batch: List[Item], tier: str, limits: Limits) -> List[Row]:
    """Return the rows of one batch; what a task runs."""
    workers = _workers(tier, limits)
    try:
        return list(workers.rows(iter(batch)))
    except BaseException:  # it still has files of this batch
        stop_workers()
        raise


_kept: Dict[Tuple[str, Limits], local.Workers] = {}
"""The process that decompiles, by what it was started for: one, or none."""


def _workers(tier: str, limits: Limits) -> local.Workers:
    """Return a process that decompiles; it outlives the task, as the process of Ray does."""
    if (tier, limits) not in _kept:
        stop_workers()
        _kept[tier, limits] = local.Workers(tier, limits, workers=1)
    return _kept[tier, limits]


def stop_workers() -> None:
    """End the process that decompiles, if there is one."""
    while _kept:
        _kept.popitem()[1].stop()

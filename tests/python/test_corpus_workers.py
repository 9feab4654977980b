"""The processes of `pellucid corpus` when they fail: with futures that do what a test says."""

import concurrent.futures
import threading
from types import SimpleNamespace

import pytest
from needs import need
from pellucid.corpus import cluster, local
from pellucid.corpus.rows import NO_MEMORY, Item, Limits

LIMITS = Limits(60.0, 1 << 31)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # the workers set it for their processes


def item(name, size=10):
    return Item(name, f"{name}.pyc", b"x" * size)


class Pool:
    """Processes that are done at once: with names in place of rows, or with what `ends` raises."""

    def __init__(self, ends=lambda count, names: None):
        self.ends, self.count, self.futures, self.is_stopped = ends, 0, [], False

    def schedule(self, function, args, timeout):
        self.count += 1
        names = [each.digest for each in args[0]]
        future = concurrent.futures.Future()
        end = self.ends(self.count, names)
        if end == "broken":
            raise RuntimeError("the pool is not active")
        self.futures.append(future)
        if isinstance(end, Exception):
            future.set_exception(end)
        elif end != "runs":
            future.set_result(names)
        return future

    def stop(self):
        self.is_stopped = True
        for future in self.futures:
            future.cancel()

    def join(self):
        pass


@pytest.fixture(autouse=True)
def _extras():
    for name in ("pyarrow", "pebble"):
        need(name)


@pytest.fixture
def pools(monkeypatch):
    """Hand out the pools of `coming` in their order, then ones that are well; `made` has all."""
    pools = SimpleNamespace(coming=[], made=[])

    def new_pool(self):
        pools.made.append(pools.coming.pop(0) if pools.coming else Pool())
        return pools.made[-1]

    monkeypatch.setattr(local.Workers, "_new_pool", new_pool)
    return pools


def breaks_at(number):
    return Pool(lambda count, names: "broken" if count == number else "runs")


@pytest.mark.parametrize("second", range(1, 7))
def test_processes_that_break_while_files_go_to_new_ones(second, pools, monkeypatch):
    monkeypatch.setattr(local, "_CHUNK", 1)
    pools.coming += [breaks_at(6), breaks_at(second)]
    items = [item(name) for name in "abcdefgh"]
    workers = local.Workers("best", LIMITS, 2)
    assert sorted(workers.rows(iter(items))) == list("abcdefgh")
    assert len(pools.made) == 3 and not workers._flying and workers._bytes == 0


def test_processes_that_always_break_end_the_run(pools):
    pools.coming += [breaks_at(1) for _ in range(9)]
    with pytest.raises(concurrent.futures.BrokenExecutor, match="no process starts"):
        list(local.Workers("best", LIMITS, 2).rows(iter([item("a")])))


def test_processes_that_are_not_heard_any_more_are_replaced(pools, monkeypatch):
    monkeypatch.setattr(local, "_SILENCE", 0.1)
    monkeypatch.setattr(local, "_LOST_LOCK", 0.1)
    silent = Pool(lambda count, names: "runs")
    silent.stop = lambda: None  # nothing is cancelled, and
    release = threading.Event()
    silent.join = release.wait  # it does not end
    pools.coming += [silent]
    items = [item(name) for name in "abc"]
    try:
        with local.Workers("best", Limits(0.1, 1 << 31), 2) as workers:
            assert sorted(workers.rows(iter(items))) == list("abc")
    finally:
        release.set()
    assert len(pools.made) == 2


def test_a_file_without_enough_memory_leaves_the_rest_of_its_chunk(pools):
    items = [item("a", 60_000), item("b"), item("c"), item("d", 51_000), item("e")]
    workers = local.Workers("best", Limits(60.0, 200_000), 1)
    rows = list(workers.rows(iter(items)))
    assert sorted(row for row in rows if isinstance(row, str)) == ["b", "c", "e"]
    refused = {row["sha256"]: row["error"] for row in rows if isinstance(row, dict)}
    assert refused == {"a": NO_MEMORY, "d": NO_MEMORY}


def test_a_batch_that_fails_leaves_no_rows_to_the_next(pools, monkeypatch):
    monkeypatch.setattr(local, "_CHUNK", 1)
    cluster.stop_workers()
    pools.coming.append(Pool(lambda count, names: MemoryError() if names == ["a"] else None))
    try:
        with pytest.raises(MemoryError):
            cluster.batch_rows([item("a"), item("b")], "best", LIMITS)
        assert cluster.batch_rows([item("c")], "best", LIMITS) == ["c"]
        assert cluster.batch_rows([item("d")], "best", LIMITS) == ["d"]
        assert [pool.is_stopped for pool in pools.made] == [True, False]
    finally:
        cluster.stop_workers()


def test_a_batch_with_other_limits_ends_the_processes_of_the_last(pools):
    others = LIMITS._replace(seconds=1.0)
    cluster.stop_workers()
    try:
        for limits in (LIMITS, LIMITS, others):
            assert cluster.batch_rows([item("a")], "best", limits) == ["a"]
        assert [pool.is_stopped for pool in pools.made] == [True, False]
    finally:
        cluster.stop_workers()


def test_a_process_has_no_more_memory_than_its_limit():
    # No file is read: what a process asks for itself is refused.
    with local.Workers("best", Limits(60.0, 64 << 20), 1) as workers:
        asked = workers._pool.schedule(bytearray, args=(256 << 20,), timeout=60.0)
        with pytest.raises(MemoryError):
            asked.result()
        assert workers._pool.schedule(bytearray, args=(10,), timeout=60.0).result() == bytes(10)

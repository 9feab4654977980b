# SPDX-License-Identifier: Apache-2.0
"""Handlers of torch's records about a compile: caches, metrics, times, and skipped frames."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping, TypeVar

from pellucid.dump.model.breaks import stack_of
from pellucid.dump.model.events import (
    Break,
    CacheUse,
    Collectives,
    CompileKey,
    Frame,
    Metrics,
    Place,
    Skipped,
    Started,
    Times,
)
from pellucid.dump.model.failures import NO_REASON, limit_in
from pellucid.dump.model.names import scrub
from pellucid.dump.store.session import Session

from ..taps.trace import TraceRecord
from .process import Process

# The metrics that are the same in every run.
_STABLE_METRICS = (
    "co_name",
    "co_filename",
    "co_firstlineno",
    "cache_size",
    "guard_count",
    "shape_env_guard_count",
    "graph_op_count",
    "graph_node_count",
    "graph_input_count",
    "num_graph_breaks",
    "fail_type",
    "fail_reason",
    "fail_user_frame_filename",
    "fail_user_frame_lineno",
    "has_guarded_code",
    "dynamic_shapes",
    "specialize_float",
    "is_forward",
    "ir_count",
    "param_numel",
    "param_bytes",
    "param_count",
)
# Metrics that are worth keeping if set, such as restarts and skipped CUDA graphs.
_UNUSUAL_METRICS = (
    "restart_reasons",
    "recompile_user_contexts",
    "cudagraph_skip_reason",
    "non_compliant_ops",
    "compliant_custom_ops",
    "tensorify_float_attempt",
    "tensorify_float_success",
    "tensorify_float_failure",
    "num_triton_bundles",
    "config_suppress_errors",
)
# The backward pass has separate metrics; only these add information.
_OF_BACKWARD = ("is_forward", "cudagraph_skip_reason", "fail_type", "fail_reason", "ir_count")
T = TypeVar("T", "dict[str, Any]", "list[Any]")
_CACHES = ("fx_graph_cache", "aotautograd_cache")


def take_metrics(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Record torch's metrics of a compile as events."""
    if isinstance(record.data, Mapping):
        _metrics(session, key, record.kind.startswith("bwd"), record.data, process)


def take_cache(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Record a cache lookup."""
    cache, _, result = record.kind.rpartition(":")[2].rpartition("_")
    if cache in _CACHES:
        session.record(_cache_use(key, cache, result, record.payload))


def take_unsaved(session: Session, key: CompileKey, record: TraceRecord, process: Process) -> None:
    """Record why a result could not be saved for another process."""
    told = table_of(record.payload, dict)
    entry = told.get("entry")
    name = record.kind.rpartition(":")[2]
    cache = "aotautograd_cache" if name.startswith("aotautograd") else "dynamo_cache"
    reason = str(told.get("_reason") or told.get("error") or "")
    if told.get("field"):
        reason = f"{reason} (in its field {told['field']})".lstrip()
    if told.get("missing_backend"):
        function = entry.get("fn_name") if isinstance(entry, dict) else None
        of = f" of {function}" if function else ""
        reason = f"the compiled graph {told['missing_backend']}{of} was not saved"
    session.record(CacheUse(key, cache, "unsaved", scrub(" ".join(reason.split()))))


def take_collectives(
    session: Session, key: CompileKey, record: TraceRecord, process: Process
) -> None:
    """Record the collective operations of a program."""
    schedule = table_of(record.payload, list)
    session.record(Collectives(key, tuple(map(str, schedule))))


def _metrics(
    session: Session,
    key: CompileKey,
    backward: bool,
    data: Mapping[str, Any],
    process: Process,
) -> None:
    values = {k: data[k] for k in _STABLE_METRICS if data.get(k) is not None}
    values.update((k, _in_order(data[k])) for k in _UNUSUAL_METRICS if data.get(k))
    seconds = dict(sorted(_seconds(data)))
    session.record(Times(key, backward, seconds))
    if backward:
        extra = {name: values[name] for name in _OF_BACKWARD if name in values}
        if extra.keys() - {"is_forward"}:
            session.record(Metrics(key, {**extra, "is_forward": False}))
        return
    session.record(Metrics(key, values))
    if not any(map(values.get, ("co_name", "fail_type", "fail_reason"))) and key.id is None:
        return  # work outside Dynamo, which has no frame
    if values.get("fail_reason") or not values.get("has_guarded_code"):
        _skipped(session, key, values, process)


def _in_order(value: Any) -> Any:
    """Return a metric in a form that is the same in every run: torch sends sets in random order."""
    if isinstance(value, (list, set, frozenset, tuple)):
        return sorted(scrub(str(item)) for item in value)
    return scrub(value) if isinstance(value, str) else value


def _skipped(
    session: Session, key: CompileKey, values: Mapping[str, Any], process: Process
) -> None:
    kind = str(values.get("fail_type") or "")
    failed = process.failure(kind, values) if kind else None
    raised = failed is not None and failed.raised
    if session.of(Frame, key) and not raised:
        return
    breaks = session.of(Break, key)
    reason = values.get("fail_reason") or (failed is not None and failed.text)
    text = str(reason or (breaks[-1].text if breaks else NO_REASON))
    place: Place | None = None
    if values.get("co_filename"):
        line = int(values.get("co_firstlineno") or 0)
        place = Place(str(values["co_filename"]), line, str(values.get("co_name") or ""))
    elif failed is not None and failed.code is not None:  # past the recompile limit
        code = failed.code
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
    else:
        place = next(filter(None, (event.place for event in _same_frame(session, key))), None)
    frames = stack_of(text if failed is None else failed.text) or stack_of(text)
    if values.get("fail_user_frame_filename"):
        line = int(values.get("fail_user_frame_lineno") or 0)
        at: Place | None = Place(str(values["fail_user_frame_filename"]), line)
    else:
        at = frames[-1] if frames else None
    limit = limit_in("\n".join((text, *(() if failed is None else (kind, failed.text)))))
    inside = "" if failed is None else failed.inside
    session.record(Skipped(key, place, kind, scrub(text), raised, at, frames, limit, inside))


def _same_frame(session: Session, key: CompileKey) -> Iterator[Started | Frame]:
    """Yield what is recorded of a compile, then of the other compiles of its frame."""
    yield from session.of(Started, key)
    yield from (event for event in session.of(Started) if event.key.frame == key.frame)
    yield from (event for event in session.of(Frame) if event.key.frame == key.frame)


def _seconds(data: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return every duration among torch's metrics, in seconds.

    >>> _seconds({"gc_time_us": 1500, "code_gen_time_s": 2.0, "end_time_us": 9, "co_name": "f_s"})
    [('gc_time', 0.0015), ('code_gen_time', 2.0)]
    """
    found = []
    for name, value in data.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        for suffix, unit in (("_s", 1.0), ("_us", 1e-6), ("_ns", 1e-9)):
            if name.endswith(suffix) and not name.startswith(("start_time", "end_time")):
                found.append((name[: -len(suffix)], round(value * unit, 9)))
    return found


def _cache_use(key: CompileKey, cache: str, result: str, payload: str | None) -> CacheUse:
    """Return a cache lookup with its key, and the reason for a bypass."""
    found = table_of(payload, dict)
    components = found.get("components")
    return CacheUse(
        key,
        cache,
        result,
        str(found.get("cache_bypass_reason") or ""),
        str(found.get("key") or ""),
        tuple(scrub(str(c)) for c in components) if isinstance(components, list) else (),
    )


def table_of(payload: str | None, kind: type[T]) -> T:
    """Return a payload's content if it has the expected type; else an empty one."""
    try:
        found = json.loads(payload or "null")
    except ValueError:
        found = None
    return found if isinstance(found, kind) else kind()

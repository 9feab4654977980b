"""Everything that a program can see of its process, with or without a capture.

`python effects.py with|without DIRECTORY BACKEND` prints a line of JSON; test_effects.py compares.
Names of pellucid's own modules are left out, and so is what differs between any two runs.
"""

import contextlib
import gc
import io
import json
import linecache
import logging
import os
import random
import signal
import sys
import threading
import traceback
import warnings
import weakref

import numpy
import torch
import torch._dynamo.callback
import torch._dynamo.convert_frame
import torch._dynamo.utils

torch.set_num_threads(1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        hidden = self.linear(x).relu()
        if hidden.sum() > 1e9:
            hidden = hidden * 2
        return hidden + 1


def draws(x):
    return x + torch.rand(3) + random.random()


def fails(x, key):
    y = x * 2
    torch._dynamo.graph_break()
    return {"a": y}[key]


def breaks(x):
    y = x.sin()
    print("seen")
    return y


def graph_of_two(x):
    return x.cos() + 1


def modules():
    ours = ("pellucid",)
    return sorted(name for name in sys.modules if name.partition(".")[0] not in ours)


def loggers():
    found = {}
    table = {"": logging.root, **logging.root.manager.loggerDict}
    for name, log in table.items():
        if isinstance(log, logging.Logger) and not name.startswith("pellucid"):
            handlers = [f"{type(handler).__name__} {handler.level}" for handler in log.handlers]
            kind = type(log.handlers).__name__
            found[name] = [log.level, log.propagate, log.disabled, kind, handlers]
    return found, logging.root.manager.disable


def settings():
    found = {}
    for name in ("_dynamo", "_functorch", "_inductor"):
        config = sys.modules.get(f"torch.{name}.config")
        if config is not None:
            values = config.get_config_copy().items()
            found[name] = {k: repr(sorted(v) if isinstance(v, set) else v) for k, v in values}
    return found


def tracers():
    found = [sys.gettrace(), sys.getprofile(), threading._trace_hook, threading._profile_hook]
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        found += [monitoring.get_tool(number) for number in range(6)]
    return [None if one is None else repr(one) for one in found]


def process():
    """What belongs to the process and not to the program's values."""
    opened = []
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with contextlib.suppress(OSError):
            opened.append(os.readlink(f"/proc/self/fd/{number}"))
    return {
        "warning filters": [str(entry) for entry in warnings.filters],
        "warnings shown by": repr(warnings.showwarning).partition(" at ")[0],
        "loggers": loggers(),
        "tracers": tracers(),
        "gc": [gc.isenabled(), gc.get_threshold(), len(gc.callbacks), gc.get_freeze_count()],
        # Inductor keeps an address there.
        "environment": sorted((k, v) for k, v in os.environ.items() if not v.isdigit()),
        "settings": settings(),
        "hooks": [
            len(torch._dynamo.convert_frame._bytecode_hooks),
            len(torch._dynamo.callback.callback_handler.start_callbacks),
            len(torch._dynamo.callback.callback_handler.end_callbacks),
            sys.excepthook is sys.__excepthook__,
            sys.displayhook is sys.__displayhook__,
            threading.excepthook.__name__,
            sys.unraisablehook is sys.__unraisablehook__,
            len(sys.meta_path),
            len(sys.path_hooks),
        ],
        "signals": [str(signal.getsignal(number)) for number in (2, 10, 12, 14, 15)],
        "interpreter": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.path, os.getcwd()],
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "modes": [
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            str(torch.get_default_dtype()),
            torch.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
        ],
        "open files": sorted(f for f in opened if not f.startswith(("pipe:", "socket:", "/dev"))),
    }


def randomness():
    states = [random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state()]
    return [states[0][1][:4], states[1][:4], states[2].tolist()[:40]]


def error_of(call, *args):
    """An exception as its user sees it; a file of the dump stands for what it was made of."""
    try:
        call(*args)
    except Exception as error:
        places = []
        for frame, _ in traceback.walk_tb(error.__traceback__):
            name = frame.f_code.co_name
            places.append(name.replace("torch_dynamo_resume_in_", "resume "))
        chain = [type(e).__name__ for e in (error.__cause__, error.__context__) if e is not None]
        return [type(error).__name__, scrubbed(str(error)), places, chain]
    return "no error"


def scrubbed(text):
    import re

    return re.sub(r"0x[0-9a-f]+|_[0-9a-f]{8}(_[0-9a-f]{4}){3}_[0-9a-f]{12}", "", text)


def counts():
    utils = torch._dynamo.utils
    return {
        "breaks": {scrubbed(k): v for k, v in utils.counters["graph_break"].items()},
        "frames": dict(utils.counters["frames"]),
        "stats": dict(utils.counters["stats"]),
        "compiles": [(m.co_name, m.cache_size) for m in utils.get_compilation_metrics()],
        "caches": [caches(f) for f in (Model.forward, draws, fails, breaks, graph_of_two)],
    }


def caches(function):
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    return len(_debug_get_cache_entry_list(function.__code__))


def run(capture, backend):
    """Use a compiler as programs do, inside and outside of captures; tell what was seen."""
    seen = {"process at first": process()}
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        torch.manual_seed(0)
        random.seed(0)
        numpy.random.seed(0)
        model = Model()
        alive = {"model": weakref.ref(model), "weight": weakref.ref(model.linear.weight)}
        with capture("one"):
            compiled = torch.compile(model, backend=backend)
            x = torch.ones(2, 4, requires_grad=True)
            result = compiled(x)
            result.sum().backward()
            seen["results"] = [result.tolist(), x.grad.tolist()]
            seen["drawn"] = torch.compile(draws, backend=backend)(torch.ones(3)).tolist()
            wrong = torch.compile(fails, backend=backend)
            seen["error"] = error_of(wrong, torch.ones(1), "b")
            whole = torch.compile(breaks, backend=backend, fullgraph=True)
            seen["error of fullgraph"] = error_of(whole, torch.ones(1))
            seen["error of a backend"] = error_of(
                torch.compile(graph_of_two, backend=refusing), torch.ones(1)
            )
            seen["random state inside"] = randomness()
            seen["counts inside"] = counts()
            with capture("nested"):
                two = torch.compile(graph_of_two, backend=backend)
                seen["nested"] = [two(torch.ones(n)).tolist() for n in (2, 3, 4)]
                torch._dynamo.reset()
                seen["after a reset"] = two(torch.ones(2)).tolist()
            thread = threading.Thread(target=two, args=(torch.ones(2, 2),))
            thread.start()
            thread.join()
        seen["after"] = compiled(x).tolist()
        with capture("one"):
            seen["again"] = compiled(torch.ones(3, 4)).tolist()
        results = [weakref.ref(result), weakref.ref(x)]
        seen["counts"] = counts()
        seen["random state"] = randomness()
        del model, compiled, result, x, wrong, whole, two
        gc.collect()
        seen["alive"] = {name: ref() is not None for name, ref in alive.items()}
        seen["results alive"] = [ref() is not None for ref in results]
    seen["warned"] = sorted(str(w.message) for w in warned if "pellucid" not in str(w.message))
    seen["warned by us"] = [str(w.message) for w in warned if "pellucid" in str(w.message)]
    seen["printed"] = out.getvalue()
    seen["process"] = process()
    seen["modules"] = modules()
    seen["lines"] = sorted(name for name in linecache.cache if name.endswith(".py"))
    return seen


def refusing(graph, inputs):
    raise ValueError("this backend refuses")


def main(way, directory, backend):
    if way == "with":
        import pellucid

        def capture(name):
            return pellucid.prepare_debug(os.path.join(directory, name))
    else:
        if way == "imported":
            import pellucid.torch

        def capture(name):
            return contextlib.nullcontext()

    print(json.dumps(run(capture, backend)))


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""What depyf puts in the place of torch's functions, for programs that do so themselves.

pellucid replaces none of them: it sees graphs and kernels as torch reports them.  So each of these
does what torch's own function does.
"""

from __future__ import annotations

from typing import Any, Callable

from .global_variables import data

__all__ = [
    "patched___call__",
    "patched__exec_with_source",
    "patched_boxed_run",
    "patched_lazy_format_graph_code",
    "patched_load_by_key_path",
]

data["unpatched___call__"]  # looks up torch's functions, before anyone replaces them


def patched___call__(self: Any, code: Any, check_fn: Any) -> Any:
    """Replace ``OptimizeContext.__call__``, and add the function to the table."""
    data["optimized_functions"].add(code)
    return data["unpatched___call__"](self, code, check_fn)


def patched__exec_with_source(src: str, globals: dict[str, Any], co_fields: Any = None) -> None:
    """Replace ``torch.fx.graph_module._exec_with_source``."""
    data["unpatched__exec_with_source"](src, globals, co_fields)


def patched_boxed_run(self: Any, args_list: list[Any]) -> Any:
    """Replace ``torch.fx.Interpreter.boxed_run``: run the graph as code that can be stepped.

    Like torch's, it empties the list, so that tensors are freed as soon as possible.
    """
    arguments = tuple(args_list)
    args_list.clear()
    return self.module.forward(*arguments)


def patched_lazy_format_graph_code(
    name: str, gm: Any, maybe_id: int | None = None, **kwargs: Any
) -> Any:
    """Replace ``lazy_format_graph_code``, and add the graph to the open captures."""
    # Programs put its code into torch's function, so it may use no global of this module.
    from pellucid import dump_graph
    from pellucid.explain.global_variables import data

    dump_graph(name.partition(":")[0], gm)
    return data["unpatched_lazy_format_graph_code"](name, gm, maybe_id, **kwargs)


def patched_load_by_key_path(
    key: str, path: str, linemap: Any = None, attrs: dict[str, Any] | None = None
) -> Any:
    """Replace ``PyCodeCache.load_by_key_path``."""
    load: Callable[..., Any] = data["unpatched_load_by_key_path"]
    return load(key, path, linemap, attrs)

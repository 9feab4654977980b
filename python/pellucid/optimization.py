# SPDX-License-Identifier: Apache-2.0
"""Call compiled code directly, without its guards.

Serving engines know more about their calls than the guards check: if the shapes fall into a few
known buckets, the guards only cost time.  The protocol is depyf's; vLLM subclasses it.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from types import CodeType, FunctionType, MethodType
from typing import Any, Callable, Iterator

from pellucid.torch.taps import hooks

_calling = threading.local()


class TorchCompileWrapperWithCustomDispatcher:
    """Base of callables that choose among the compiled versions of their ``forward`` themselves.

    A subclass defines ``forward`` and calls ``super().__init__`` with the compiled callable.  Its
    ``__call__`` either calls ``self.compiled_callable`` or, inside
    ``with self.dispatch_to_code(index):``, ``self.forward``.  ``self.compiled_codes`` holds the
    compiled versions in the order in which Dynamo compiled them.  Nothing checks that a version
    fits its arguments.

    Args:
        compiled_callable: what ``torch.compile`` returned for ``self.forward``.
        use_custom_dispatcher: stored for the subclass.
    """

    def __init__(
        self, compiled_callable: Callable[..., Any], use_custom_dispatcher: bool = True
    ) -> None:
        self.original_code_object: CodeType = type(self).forward.__code__
        self.compiled_codes: list[CodeType] = []
        self.use_custom_dispatcher = use_custom_dispatcher
        self.compiled_callable = _announced(compiled_callable, weakref.ref(self))
        hook = weakref.WeakMethod(self.bytecode_hook)

        def call_hook(old: CodeType, new: CodeType) -> None:
            method = hook()
            if method is not None:
                method(old, new)

        weakref.finalize(self, hooks.add_bytecode_hook(call_hook))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled callable; subclasses override this to dispatch."""
        return self.compiled_callable(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result: ``torch.compile`` compiles this.  Subclasses define it."""
        raise NotImplementedError

    def bytecode_hook(self, old_code: CodeType, new_code: CodeType) -> None:
        """Store a compiled version of this instance's ``forward``."""
        if old_code is not self.original_code_object:
            return
        # Instances of one class share the code object, so it does not identify the caller.
        caller = getattr(_calling, "instance", None)
        if caller is None or caller is self:
            self.compiled_codes.append(new_code)

    @contextlib.contextmanager
    def dispatch_to_code(self, index: int) -> Iterator[None]:
        """Make ``self.forward`` run a compiled version inside the block, without its guards.

        The compiled code has the arguments and closure cells of the original, so it can replace
        it.  Other instances, even of the same class, are not affected.
        """
        function = type(self).forward
        compiled = FunctionType(
            self.compiled_codes[index],
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        compiled.__kwdefaults__ = function.__kwdefaults__
        before = self.__dict__.get("forward")
        self.__dict__["forward"] = MethodType(compiled, self)
        try:
            yield
        finally:
            if before is None:
                del self.__dict__["forward"]
            else:
                self.__dict__["forward"] = before


def _announced(function: Callable[..., Any], instance: weakref.ref[Any]) -> Callable[..., Any]:
    """Wrap a compiled callable to attribute a compile to the instance that called it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        outer = getattr(_calling, "instance", None)
        _calling.instance = instance()
        try:
            return function(*args, **kwargs)
        finally:
            _calling.instance = outer

    return call

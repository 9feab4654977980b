# SPDX-License-Identifier: Apache-2.0
"""The exceptions that pellucid raises, and its one-line error messages."""

import sys


def complain(about: str, text: str) -> None:
    """Print one message about one input to standard error, on one line.

    Control characters, which names in the input may contain, are escaped.
    """
    print(f"pellucid: {printable(f'{about}: {text}')}", file=sys.stderr)


def printable(text: str) -> str:
    """Return text on one line, with control characters escaped, which names may contain."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class DecompileError(ValueError):
    """The input is invalid; the message says how and where.

    `offset` is a byte offset: in the file for a `.pyc`, in the bytecode for a live object. `code`
    is one of "truncated", "malformed", "unknown version", "unsupported", "limit" and "internal".
    """

    def __init__(self, message: str = "", offset: int = 0, code: str = "malformed") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.code = code

    def __str__(self) -> str:
        if " byte 0x" in self.message:
            return self.message
        return f"{self.message} at byte 0x{self.offset:x}"


class NoCertificate(ValueError):
    """A verdict has no certificate; the message says why."""


class CannotStandIn(ValueError):
    """Recompiled code must not run in place of the original; the message says why."""


class CannotPort(ValueError):
    """Code cannot be carried over to the running Python; the message says why."""


class NotADump(ValueError):
    """A file is not part of a capture or cannot be read; the message says which, and why."""


class NotALog(ValueError):
    """A file is not a structured trace log of PyTorch; the message says at which line, and why.

    `line` is 0 if the reason does not concern a single line.
    """

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")
        self.file = file
        self.line = line
        self.reason = reason


class NotAnArtifact(ValueError):
    """A file is not compiled code that PyTorch saved; the message says which, and why."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason


class CannotTry(ValueError):
    """A remedy cannot be applied or the program cannot be run again; the message says why."""


class CannotPrint(Exception):
    """Standard output cannot be written: it is closed, or its device is full."""

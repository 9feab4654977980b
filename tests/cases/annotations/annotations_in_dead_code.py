"""Annotations that nothing reaches keep their places among the others."""
# since: 3.14
import typing
if False:
    theme: Theme
first: int = 1


class Table:
    name: str
    if False:
        hidden: bytes
    if typing:
        kind: int
    size: int = 0

"""Annotations of every place that has them."""
from typing import ClassVar, List, Optional
module_level: int = 1
declared: 'str'


def arguments(a: int, b: str='x', *c: float, d: List[int], e: Optional[int]=None, **f: bytes) -> bool:
    return a


class Fields:
    name: str
    size: int = 0
    shared: ClassVar[List[str]] = []

    def method(self: 'Fields', other: Optional['Fields']=None) -> None:
        pass

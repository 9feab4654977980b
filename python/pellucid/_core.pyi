from types import CodeType
from typing import Any, Dict, List, Optional, Tuple

__version__: str

class Decompiled:
    @property
    def source(self) -> str: ...
    @property
    def line_map(self) -> List[Tuple[int, Optional[int], Optional[int], str]]: ...
    @property
    def globals(self) -> Dict[str, Any]: ...
    @property
    def renamed(self) -> Dict[str, str]: ...
    @property
    def diagnostics(self) -> List[Tuple[str, int, str, bool]]: ...
    @property
    def version(self) -> Tuple[int, int]: ...

_CodeVerdict = Tuple[str, str, str, int, int]

def decompile_code(
    code: CodeType,
    keep_lines: bool = False,
    unstructured: bool = False,
    forms: Dict[str, int] = ...,
    *,
    facts: Optional[Dict[str, List[str]]] = None,
) -> Decompiled: ...
def decompile_pyc(
    data: bytes,
    keep_lines: bool = False,
    unstructured: bool = False,
    forms: Dict[str, int] = ...,
) -> Decompiled: ...
def dump_code(code: CodeType, stage: str) -> str: ...
def dump_pyc(data: bytes, stage: str) -> str: ...
def compare_codes(
    a: CodeType,
    b: CodeType,
    *,
    ignore_name: bool = False,
    extra_locals: bool = False,
    facts: Optional[Dict[str, List[str]]] = None,
) -> Tuple[str, List[_CodeVerdict]]: ...
def compare_pyc(pyc: bytes, marshalled: bytes) -> Tuple[str, List[_CodeVerdict]]: ...
def relower_pyc(
    pyc: bytes, unstructured: bool = False, forms: Dict[str, int] = ...
) -> Tuple[str, List[_CodeVerdict]]: ...
def pyc_version(data: bytes) -> Tuple[int, int]: ...

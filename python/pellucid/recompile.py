# SPDX-License-Identifier: Apache-2.0
"""Compile decompiled source into a code object that may replace the original.

Callers of code objects depend on more than their meaning: a frame passes arguments and closure
cells by position, Dynamo looks up locals by name, a traceback prints the qualified name. So the
result has the original's argument counts, flags, names, `co_freevars` and `co_cellvars` in the
original's order, and at least its locals; and opaque constants are constants again.
"""

import __future__

import ast
import dis
import sys
from types import CodeType
from typing import (
    Any,
    Collection,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

from pellucid._core import function_name
from pellucid.errors import CannotStandIn
from pellucid.instructions import (
    bind_constants,
    load_common_constants,
    units_of,
    with_slots_in_order,
)
from pellucid.interpreters import compiling

# The function that encloses a decompiled `def`, so that its free variables exist, and the name of
# the `def` inside it: its own name would hide a global or a free variable of that name.
_OUTER = "__pellucid_outer__"
_INNER = "__pellucid_inner__"

_CO_OPTIMIZED = 0x1
_CO_NESTED = 0x10
_CO_ITERABLE_COROUTINE = 0x100
_CO_HAS_DOCSTRING = 0x4000000  # 3.14
_CO_METHOD = 0x8000000 if sys.version_info >= (3, 14) else 0
_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag & ~_CO_NESTED
# Flags that depend on the place of a function's `def`.
_FLAGS_OF_PLACE = _CO_NESTED | _CO_METHOD
# Flags that `compile` takes as an argument rather than from the text, and flags of the place.
_FLAGS_OF_CONTEXT = _FLAGS_OF_PLACE | _FUTURE_FLAGS | _CO_ITERABLE_COROUTINE


def stand_in(
    source: str,
    original: CodeType,
    filename: str,
    renamed: Optional[Dict[str, str]] = None,
    constants: Optional[Dict[str, Any]] = None,
    nested: Collection[str] = (),
) -> CodeType:
    """Return the code object of `source` that may replace `original`.

    `renamed` maps names in the source to the original ones, `constants` the names of opaque
    constants to their objects. Functions inside that `nested` names get the cells and free
    variables of the original's, including those that the source does not use. Raises SyntaxError if
    the source does not compile and CannotStandIn if no such code object can be made.
    """
    renamed = renamed or {}
    with compiling():
        tree = ast.parse(source, filename)
    if original.co_flags & _CO_OPTIMIZED:
        code = _compile_function(tree, original, filename, renamed, nested)
    else:
        code = _compile(tree, filename, original)
    code = _with_original_names(code, original, renamed)
    code = with_slots_in_order(code, original)
    code = _with_all_locals(code, original)
    code = load_common_constants(code, original)
    if constants:
        code = bind_constants(code, constants)
    _check(code, original)
    return code


def _compile(tree: ast.Module, filename: str, original: CodeType) -> CodeType:
    flags = original.co_flags & _FUTURE_FLAGS
    with compiling():
        compiled: CodeType = compile(tree, filename, "exec", flags, dont_inherit=True, optimize=0)
    return compiled


def _compile_function(
    tree: ast.Module,
    original: CodeType,
    filename: str,
    renamed: Dict[str, str],
    nested: Collection[str],
) -> CodeType:
    """Compile the only `def` of `tree`, inside a function that defines its free variables."""
    defs = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if len(defs) != 1:
        raise CannotStandIn(f"the source has {len(defs)} function definitions at its top, not one")
    function = defs[0]
    shown = {old: new for new, old in renamed.items()}
    free = [shown.get(name, name) for name in original.co_freevars]
    tree.body[tree.body.index(function)] = _outer(function, free)
    function.name = _INNER
    context = _context(original, shown)
    if context:
        tree.body.append(_never(context, function))
    code = _find(_compile(tree, filename, original))
    unused = [(function, _unused_names(code, original, shown, _SLOTS))]
    for inner in _functions_in(function, nested):
        ours, theirs = _named(code, inner.name, inner.lineno), _named(original, inner.name)
        # Only their variables distinguish code objects with the same name.
        if len(ours) == 1 and len({(c.co_cellvars, c.co_freevars) for c in theirs}) == 1:
            unused.append((inner, _unused_names(ours[0], theirs[0], shown, _CELLS)))
    for place, names in unused:
        if names:
            place.body.append(_never(names, place.body[-1]))
    if any(names for _, names in unused):
        code = _find(_compile(tree, filename, original))
    return code


def _outer(function: ast.stmt, free: Sequence[str]) -> ast.stmt:
    # `a = b = None` makes the names locals of the outer function, so cells for the inner one.
    lines = [f"def {_OUTER}():"]
    lines += [f"    {name} = None" for name in free]
    outer = ast.parse("\n".join([*lines, "    pass"])).body[0]
    assert isinstance(outer, ast.FunctionDef)
    for node in ast.walk(outer):
        if hasattr(node, "lineno"):
            ast.copy_location(node, function)
    outer.body.append(function)
    return outer


def _context(original: CodeType, shown: Dict[str, str]) -> List[str]:
    """Return module-level statements that the compiler must see to choose the same ops.

    Since 3.11 `a.f()` is not a method call if the module imports `a`; since 3.12 `super()` is a
    plain call if the module itself mentions `super`.
    """
    if sys.version_info < (3, 11):
        return []
    imported: Dict[str, bool] = {}
    load_super_attr = dis.opmap.get("LOAD_SUPER_ATTR")
    plain_super, optimized_super = False, False
    todo = [original]
    for code in todo:
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
        # Not `dis`: it prints every constant, and Dynamo's may be dictionaries of whole modules.
        units = list(units_of(code.co_code))
        optimized_super |= any(unit.op == load_super_attr for unit in units)
        for first, then in zip(units, units[1:]):
            if first.op != dis.opmap["LOAD_GLOBAL"] or first.arg >> 1 >= len(code.co_names):
                continue
            name, does = code.co_names[first.arg >> 1], dis.opname[then.op]
            name = shown.get(name, name)
            if does in ("LOAD_ATTR", "LOAD_METHOD"):
                by_method = does == "LOAD_METHOD" or (
                    sys.version_info >= (3, 12) and bool(then.arg & 1)
                )
                imported[name] = imported.get(name, True) and not by_method
            # A call reserves a slot for NULL; so does `super().f(*a)`, which has LOAD_SUPER_ATTR.
            plain_super = plain_super or (name == "super" and bool(first.arg & 1))
    statements = [
        f"import {name}" for name, is_it in imported.items() if is_it and name.isidentifier()
    ]
    return statements + ["super"] * (plain_super and not optimized_super)


def _find(module: CodeType) -> CodeType:
    todo = [module]
    # todo grows during the loop: a function with type parameters is nested one deeper
    for code in todo:
        for const in code.co_consts:
            if isinstance(const, CodeType):
                if const.co_name == _INNER:
                    return const
                todo.append(const)
    raise CannotStandIn("the compiled source has lost its function")


_CELLS = ("co_cellvars", "co_freevars")
_SLOTS = ("co_varnames", *_CELLS)


def _functions_in(function: _Function, names: Collection[str]) -> Iterator[_Function]:
    """Yield the functions with these names that a function defines directly."""
    todo: List[ast.AST] = list(function.body) if names else []
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name in names:
                yield node
        elif not isinstance(node, (ast.ClassDef, ast.expr)):
            todo += ast.iter_child_nodes(node)


def def_name(code: CodeType) -> str:
    """Return the `def` name for this code: `resume_in_<lambda>` is not a valid one."""
    name: str = code.co_name
    return name if name.startswith("<") else function_name(name)


def _named(code: CodeType, name: str, line: Optional[int] = None) -> List[CodeType]:
    """Return the directly nested code objects with this name and, if given, this first line."""
    return [
        const
        for const in code.co_consts
        if isinstance(const, CodeType)
        and def_name(const) == name
        and line in (None, const.co_firstlineno)
    ]


def _unused_names(
    code: CodeType, original: CodeType, shown: Dict[str, str], kinds: Sequence[str]
) -> List[str]:
    """Return statements (as text) that declare names which the source does not use."""

    def absent(kind: str) -> List[str]:
        names = [shown.get(name, name) for name in getattr(original, kind) if kind in kinds]
        known = frozenset(getattr(code, kind))
        return [name for name in names if name not in known]

    # Dynamo's resume functions can have a local and a free variable of one name; if the source
    # used both, one of them would have been renamed.
    free = {shown.get(name, name) for name in original.co_freevars}
    locals_ = [] if _takes_locals(code, original) else absent("co_varnames")
    locals_ = [name for name in locals_ if name not in free]
    statements = [f"{name} = None" for name in locals_ if name.isidentifier()]
    statements += [f"lambda: {name}" for name in absent("co_cellvars") if name.isidentifier()]
    statements += [f"{name}" for name in absent("co_freevars") if name.isidentifier()]
    # A cell that is not an argument must be bound somewhere to belong to the function.
    bound = {*code.co_varnames, *code.co_cellvars}
    statements += [
        f"{name} = None"
        for name in absent("co_cellvars")
        if name.isidentifier() and name not in bound
    ]
    return statements


def _never(statements: List[str], place: ast.stmt) -> ast.stmt:
    # The symbol table sees names in dead code, which generates no bytecode.
    text = "if 0:\n" + "".join(f"    {statement}\n" for statement in statements)
    dead = ast.parse(text).body[0]
    for node in ast.walk(dead):
        if hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return dead


def _with_original_names(code: CodeType, original: CodeType, renamed: Dict[str, str]) -> CodeType:
    """Give `code` the names, flags and qualified names of the original."""

    def old(names: Sequence[str]) -> Tuple[str, ...]:
        return tuple(renamed.get(name, name) for name in names)

    flags = code.co_flags & ~_FLAGS_OF_CONTEXT | original.co_flags & _FLAGS_OF_CONTEXT
    changes: Dict[str, Any] = {
        "co_name": original.co_name,
        "co_flags": flags,
        "co_names": old(code.co_names),
        "co_varnames": old(code.co_varnames),
        "co_cellvars": old(code.co_cellvars),
        "co_freevars": old(code.co_freevars),
    }
    if original.co_flags & _CO_OPTIMIZED:
        compiled, wanted = f"{_OUTER}.<locals>.{_INNER}", _qualname(original)
        changes["co_consts"] = tuple(
            _requalified(const, compiled, wanted, renamed) for const in code.co_consts
        )
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = original.co_qualname
    return _with_functions_alike(code.replace(**changes), [original])


_NAMES = ("co_name", "co_qualname") if sys.version_info >= (3, 11) else ("co_name",)


def _with_functions_alike(code: CodeType, originals: List[CodeType]) -> CodeType:
    """Give the functions in `code` the flags of their places and the names of the originals'.

    Generated code creates functions from code objects that were compiled in a different place.
    `originals` are the candidates for `code`; if they disagree, the compiler's result is kept.
    """
    if not any(isinstance(const, CodeType) for const in code.co_consts):
        return code
    named: Dict[str, List[CodeType]] = {}
    for other in [const for original in originals for const in original.co_consts]:
        if isinstance(other, CodeType):
            named.setdefault(def_name(other), []).append(other)
    given = _made_functions(originals)
    ours = {qualname: name for name, names in _made_functions([code]).items() for qualname in names}
    consts: List[Any] = []
    for const in code.co_consts:
        if isinstance(const, CodeType):
            theirs = named.get(const.co_name, [])
            const = _with_functions_alike(const, theirs)
            flags = {other.co_flags & _FLAGS_OF_PLACE for other in theirs}
            if len(flags) == 1:
                const = const.replace(co_flags=const.co_flags & ~_FLAGS_OF_PLACE | flags.pop())
            for name in _NAMES:
                given_names = {getattr(other, name) for other in theirs}
                if len(given_names) == 1:
                    const = const.replace(**{name: given_names.pop()})
        elif isinstance(const, str) and const in ours:
            qualnames = given.get(ours[const], set())
            const = next(iter(qualnames)) if len(qualnames) == 1 else const
        consts.append(const)
    return code.replace(co_consts=tuple(consts))


def _made_functions(codes: List[CodeType]) -> Dict[str, Set[str]]:
    """Map the names of functions that the codes create to the qualified names they give them.

    Up to 3.10, a qualified name is a separate constant, and generated code may have any.
    """
    made: Dict[str, Set[str]] = {}
    for code in codes if sys.version_info < (3, 11) else []:
        units = list(units_of(code.co_code))
        for first, second, third in zip(units, units[1:], units[2:]):
            if dis.opname[third.op] != "MAKE_FUNCTION":
                continue
            if not dis.opname[first.op] == dis.opname[second.op] == "LOAD_CONST":
                continue
            function, qualname = code.co_consts[first.arg], code.co_consts[second.arg]
            if isinstance(function, CodeType) and isinstance(qualname, str):
                made.setdefault(def_name(function), set()).add(qualname)
    return made


def _qualname(original: CodeType) -> str:
    """Return the qualified name; in 3.8-3.10, as far as names of nested functions reveal it."""
    if sys.version_info >= (3, 11):
        return original.co_qualname
    nested = {c.co_name for c in original.co_consts if isinstance(c, CodeType)}
    for const in original.co_consts:
        if isinstance(const, str) and ".<locals>." in const:
            prefix, _, name = const.rpartition(".<locals>.")
            if name in nested and prefix.split(".")[-1] == original.co_name:
                return prefix
    return original.co_name


def _requalified(const: Any, compiled: str, wanted: str, renamed: Dict[str, str]) -> Any:
    """Replace the prefix of qualified names in a constant, nested code included."""
    if isinstance(const, str):
        return wanted + const[len(compiled) :] if const.startswith(compiled + ".") else const
    if not isinstance(const, CodeType):
        return const
    changes: Dict[str, Any] = {
        "co_consts": tuple(_requalified(c, compiled, wanted, renamed) for c in const.co_consts),
    }
    for names in ("co_names", "co_varnames", "co_cellvars", "co_freevars"):
        changes[names] = tuple(renamed.get(name, name) for name in getattr(const, names))
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = _requalified(const.co_qualname, compiled, wanted, renamed)
    return const.replace(**changes)


def _takes_locals(code: CodeType, original: CodeType) -> bool:
    """Return true if adding locals to `code` moves nothing: cells follow the locals in a frame.

    Up to 3.10, cells and free variables are numbered separately.
    """
    slots = (code.co_cellvars, code.co_freevars, original.co_cellvars, original.co_freevars)
    return sys.version_info < (3, 11) or not any(slots)


def _with_all_locals(code: CodeType, original: CodeType) -> CodeType:
    """Add the locals that the source does not use."""
    if not original.co_flags & _CO_OPTIMIZED or not _takes_locals(code, original):
        return code
    known = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    names = code.co_varnames + tuple(name for name in original.co_varnames if name not in known)
    return code.replace(co_varnames=names, co_nlocals=len(names))


def _check(code: CodeType, original: CodeType) -> None:
    """Raise CannotStandIn if callers of the code could see a difference."""
    for field in (
        "co_argcount",
        "co_posonlyargcount",
        "co_kwonlyargcount",
        "co_freevars",
        "co_cellvars",
    ):
        ours, theirs = getattr(code, field), getattr(original, field)
        if ours != theirs:
            raise CannotStandIn(f"{field} is {ours} instead of {theirs}")
    arguments = original.co_argcount + original.co_kwonlyargcount
    arguments += bool(original.co_flags & 0x4) + bool(original.co_flags & 0x8)
    if code.co_varnames[:arguments] != original.co_varnames[:arguments]:
        raise CannotStandIn("the arguments have different names")
    lost = {*original.co_varnames} - {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    if lost and original.co_flags & _CO_OPTIMIZED:
        raise CannotStandIn(f"the locals {sorted(lost)} are lost")
    # CO_NOFREE (<= 3.10) follows from the names, and the rest of the mask was copied.
    different = (code.co_flags ^ original.co_flags) & ~0x40 & ~_CO_HAS_DOCSTRING
    if different:
        raise CannotStandIn(f"the flags differ in 0x{different:x}")

# SPDX-License-Identifier: Apache-2.0
"""The programs that are changed: small ones of every construct, and functions of the library.

Each is the text of a module that defines `f`, with the arguments that `f` is called with.
"""

import importlib
import inspect
import random
import textwrap
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from spies import Prepared, Space, Spy, Stop, note
from written import written

WRITTEN, ENDLESS = "written ", "endless "
# How a generator is left: it is thrown into, closed, or released.
ACTS = ("throw", "throw", "close", "drop", "")
SMALL: Dict[str, Tuple[str, List[Tuple[Any, ...]]]] = {
    "arguments": (
        """
def f(a, b=2, *c, d=4, **e):
    x = a + b
    for i in range(3):
        x += i * d
        if x > 40:
            break
    else:
        x = -x
    return x, c, sorted(e), sorted(locals())
""",
        [(1,), (1, 2, 3), (9, 9)],
    ),
    "positional only": (
        """
def f(a, b, /, c=3, *, d=4):
    'Doc.'
    def g(x, /, y=a, *, z=b): return x, y, z
    return a - b, c, d, g(1), g(2, 3, z=5)
""",
        [(1, 2), (5, 3, 2)],
    ),
    "handlers": (
        """
def f(xs):
    out = []
    try:
        for x in xs:
            if x == 3: continue
            out.append(10 // (x - 1))
    except ZeroDivisionError as err:
        out.append(str(err))
    except (TypeError, ValueError):
        out.append('type')
        raise
    else:
        out.append('else')
    finally:
        out.append('end')
    return out
""",
        [([0, 2, 3],), ([1],), ([],), (["a"],)],
    ),
    "nested handlers": (
        """
def f(x):
    try:
        try:
            return 1 // x
        finally:
            try:
                y = [1, 2][x]
            except IndexError as e:
                y = e.args
                raise KeyError(y) from e
    except KeyError as k:
        return k.args, type(k.__cause__), type(k.__context__)
    except ZeroDivisionError:
        try:
            raise
        except Exception as again:
            return again.args, again.__context__
""",
        [(0,), (1,), (2,)],
    ),
    "cells": (
        """
def f(n):
    def g(m):
        nonlocal n
        n += m
        return n
    k = 7
    h = lambda q=2: (k, q, n)
    return [g(i) for i in range(4)] + [n], h(), h(3)
""",
        [(1,), (0,)],
    ),
    "deeper cells": (
        """
def f(a, b):
    c = a * 2
    def outer(d):
        def inner():
            nonlocal c
            c = c + b
            return a, b, c, d
        b2 = inner()
        return inner, b2
    i, first = outer(5)
    del a
    try:
        i()
    except NameError as e:
        return first, type(e), c
""",
        [(1, 2), (3, 4)],
    ),
    "unpacking": (
        """
def f(s):
    a, *b, c = s
    (d, e), g = (a, c), [*s, *b]
    return {c: a, 'b': [*b, a], **{'z': d}}, (a if a else c), a < c < 9, not b or c, e, g, {*s}
""",
        [([1, 2, 3],), ([0, 5],), ([1],)],
    ),
    "loops": (
        """
def f(x):
    n = 0
    while x:
        x -= 1
        if x % 3 == 0: continue
        for y in (1, 2):
            if x == 4: return 'four', n
            n += y if x & 1 else -y
    else:
        n = n, 'else'
    return f'{x!r:>4}|{n!s}|{x + 1}', n is not x, n != x, x not in (1, 2)
""",
        [(9,), (3,), (0,)],
    ),
    "with": (
        """
def f(p):
    q = p
    log = []
    class M:
        def __enter__(self): log.append('in'); return self
        def __exit__(self, *a): log.append(a[0]); return p == 2
    with M() as m, M():
        q = m is not None, p
        try:
            q = q[p]
        except (IndexError, TypeError):
            p = 2
            raise
    return q, p, log
""",
        [(0,), (5,), (1,)],
    ),
    "generators": (
        """
def f(v):
    def g():
        w = yield v
        try:
            w = yield (v, w)
        except ValueError as e:
            yield e.args
        r = yield from h(w)
        yield r
        return 5
    def h(z):
        yield from (z, 1, 1.0, True, -0.0)
        return 'h'
    a = g(); out = [next(a), a.send(3), a.throw(ValueError('q'))]
    return out + list(a), (i for i in range(v)), g()
""",
        [(1,), (4,)],
    ),
    "a generator": (
        """
def f(v):
    for i in v:
        if i == 2: continue
        x = yield i
        if x: return x
    yield 'end'
""",
        [([1, 2, 3],), ([],)],
    ),
    "coroutines": (
        """
async def f(v):
    class C:
        async def __aenter__(self): return 1
        async def __aexit__(self, *a): return a[0] is KeyError
        def __await__(self):
            r = yield 'waits'
            return r
    async def ag():
        for k in range(v):
            yield k
            await C()
    out = []
    async with C() as c:
        out.append(c)
        async for k in ag():
            out.append(k)
        {}[c]
    out.append([j async for j in ag() if j])
    return out, await C()
""",
        [(2,), (0,)],
    ),
    "an asynchronous generator": (
        """
async def f(v):
    yield v
    x = yield v + 1
    try:
        yield x
    finally:
        yield 'last'
""",
        [(1,)],
    ),
    "classes": (
        """
def f(a, k):
    class C(object):
        'Doc.'
        z = a
        __slots__ = ()
        def m(self): return self.z, k, __class__.__name__
        def __n(self): return 1
        w = [y for y in range(k) if y & 1]
        class D:
            pass
    class E(C, metaclass=type):
        def m(self): return super().m()
    del a
    return E().m(), C.__name__, C.__doc__, C.w, sorted(vars(C)), C.D.__qualname__
""",
        [(3, 4), (1, 1)],
    ),
    "globals": (
        """
import math as m
from os import path as p, sep
G = 1
def f(t):
    global G
    G = t
    import os.path
    from math import floor as fl, ceil
    assert t != 7, 'seven'
    assert t
    return m.floor(t / 2), G, fl(t), ceil(t), os.sep == sep, p is os.path
class K:
    x: int = 3
    def g(self, q: int = G) -> str: return q
for G in range(3): pass
try: del G
finally: G = 5
""",
        [(4,), (7,), (0,)],
    ),
    "comprehensions": (
        """
def f(n):
    x = 5
    a = [x * i for i in range(n) if i != 2 for j in (1, i)]
    b = {i: j for i, j in zip(a, a[1:])}
    c = {y for y in a}
    d = [[z for z in range(y)] for y in range(n)]
    e = [lambda: i for i in range(n)]
    return a, b, c, d, [g() for g in e], x, sum(q for q in a)
""",
        [(4,), (0,)],
    ),
    "conditions": (
        """
def f(a, b, c):
    r = a and b or not c
    if a is None or b is not None and c in (1, 2):
        r = [r, a == b, a != c, a is b]
    elif not (a and c):
        r = 'e', r
    w = (a if b else c) if r else (b or c)
    if (n := w): r = r, n
    return r, w, a < b <= c, -a, ~b, +c, not a
""",
        [(1, 2, 3), (0, 0, 0), (True, 1, 1.0), (None, 2, 1)],
    ),
    "calls": (
        """
def f(a, k):
    def g(*p, **q): return p, sorted(q.items())
    x = g(*a, 1, *a, z=2, **k), g(*a), g(**k), g(a, b=k), 'x'.join(str(i) for i in a)
    l = [3, 1]; l.sort(); l.append(g(1)[0]); a.sort(key=lambda i: -i)
    l[0], l[1:2] = a[0], [9, 8]
    del l[-1]
    l[0] += 2; l[0] <<= 1
    return x, l, a, a[0:2], a[::2], {**k, 'y': 1}
""",
        [([1, 2], {"b": 1}), ([5], {}), ([], {"z": 1})],
    ),
    "attributes": (
        """
class A:
    x = 1
def f(v):
    a = A(); a.x = v; a.y = a.x, A.x
    a.x += 1; del a.y
    try: a.y
    except AttributeError as e: s = str(e)
    return a.x, s, getattr(a, 'x'), vars(a), __name__
""",
        [(1,), (2.5,)],
    ),
    "texts": (
        """
def f(a, b):
    c = f'{a:x}' + f'{b!a}', f'{a=}', b'x' * a
    return f'{a}{b!r:>{a}}', '%s-%d' % (b, a), c, '{}'.format(b)
""",
        [(5, "q"), (1, "\\xe9")],
    ),
    "deletes": (
        """
def f(x):
    y = x
    del x
    try:
        x
    except UnboundLocalError:
        x = 'gone'
    for y in ():
        z = 1
    try:
        return x, y, z
    except NameError as e:
        return type(e), x, y
    finally:
        x = y = None
""",
        [(1,), ([],)],
    ),
    "match": (
        """
def f(x):
    match x:
        case 0 | 1: return 'low'
        case [a, *b, int(c)]: return a, b, c
        case {'k': v, **r} if v: return v, r
        case str() as s: return s
        case (complex(real=q), None): return q
    return x
""",
        [(0,), ([1, 2, 3],), ({"k": 2, "z": 3},), ("t",), ((1j, None),), (9,)],
    ),
    "except star": (
        """
def f(x):
    out = []
    try:
        try:
            if x: raise ExceptionGroup('g', [ValueError(1), TypeError(x), KeyError(2)])
        except* ValueError as e:
            out.append(len(e.exceptions))
        except* TypeError:
            out.append('t')
            if x > 1: raise OSError(x)
    except BaseException as e:
        out.append(type(e).__name__)
        out.append([type(i).__name__ for i in e.exceptions])
    return out
""",
        [(0,), (1,), (2,)],
    ),
    "type parameters": (
        """
def f(a):
    type X[T] = dict[T, a]
    def g[T: int, *U, **P](x: T = a) -> T: return x
    class C[T]:
        y: T = g(2)
    names = [str(t) for t in g.__type_params__]
    return X.__value__, g(1), C.y, names, C.__type_params__[0].__name__
""",
        [(int,), (str,)],
    ),
    "a lambda": ("f = lambda a, *b, c=1: (a, b, c, [a for a in b])\n", [(1,), (1, 2)]),
    "a finally": (
        """
def f(x):
    for i in range(3):
        try:
            if i == x: continue
            if i > x: break
            if x == 5: return 'five', i
        finally:
            x += 2 * i
    return x, i
""",
        [(0,), (1,), (5,), (9,)],
    ),
}

# Functions that change nothing outside, with arguments for them.
LIBRARY: Dict[str, List[Tuple[Any, ...]]] = {
    "posixpath.normpath": [("/a/../b//c",), ("",), ("../x/.",)],
    "posixpath.join": [("a", "b", "/c"), ("a/", "")],
    "posixpath.relpath": [("/a/b", "/a/c")],
    "posixpath.commonpath": [(["/a/b", "/a/c"],), ([],)],
    "ntpath.splitdrive": [("c:\\a",), ("//h/m/a",)],
    "ntpath.normpath": [("c:\\a\\..\\b",)],
    "bisect.bisect_left": [([1, 3, 5], 3), ([], 1)],
    "heapq._siftup": [([5, 2, 3, 1], 0)],
    "heapq.merge": [([1, 3], [2, 4]), ([],)],
    "colorsys.rgb_to_hls": [(0.2, 0.4, 0.4), (0, 0, 0)],
    "colorsys.hsv_to_rgb": [(0.5, 0.5, 0.4), (0.9, 1, 1)],
    "fnmatch.translate": [("a*[!b]?c",), ("[",)],
    "textwrap.dedent": [("  a\n   b\n",), ("",)],
    "textwrap.indent": [("a\n\nb\n", "> ")],
    "difflib._calculate_ratio": [(2, 4), (0, 0)],
    "difflib.ndiff": [(["a\n", "b\n"], ["b\n", "c\n"])],
    "difflib._mdiff": [(["a\n", "b\n"], ["b\n", "c\n"])],
    "statistics.median": [([3, 1, 2],), ([],)],
    "statistics.mode": [([1, 1, 2],)],
    "copy._reconstruct": [([1], None, list, ())],
    "functools.cmp_to_key": [(lambda a, b: a - b,)],
    "shlex.quote": [("a b",), ("",)],
    "string.capwords": [("a bc  d",)],
    "calendar.monthrange": [(2020, 2), (2021, 13)],
    "calendar.weekday": [(2020, 1, 1)],
    "base64.b85encode": [(b"abcde",)],
    "base64.b32decode": [("ME======",), ("x",)],
    "json.decoder.py_scanstring": [('a\\n\\u0041"', 0), ('"', 0), ("x", 0)],
    "ast.literal_eval": [("[1, {2: (3, -4j)}]",), ("x",)],
    "inspect.cleandoc": [(" a\n   b\n",)],
    "inspect.formatannotation": [(int,), ("x",)],
    "urllib.parse.urlsplit": [("http://a:1/b?c#d",)],
    "urllib.parse.parse_qsl": [("a=1&b=2",), ("a",)],
    "html.parser.HTMLParser.reset": [(type("H", (), {})(),)],
    "reprlib.recursive_repr": [()],
    "locale.format_string": [("%d %s", (1, "a"))],
    "stat.filemode": [(0o100644,), (0o40755,)],
    "tokenize.tokenize": [(iter([b"a = 1\n", b""]).__next__,)],
    "pprint._safe_tuple": [((1, "a"),)],
    "keyword.iskeyword": [("if",)],
    "csv.Sniffer._guess_delimiter": [(type("S", (), {"preferred": [","]})(), "a,b\nc,d\n", [","])],
    "sre_parse.fix_flags": [("a", 0)],
    "contextlib.suppress.__exit__": [
        (type("S", (), {"_exceptions": KeyError})(), KeyError, None, None)
    ],
    "typing._collect_parameters": [((int, str),)],
    "dis.findlabels": [(b"\x01\x00\x02\x01",)],
    "types.resolve_bases": [((int,),)],
    "operator.countOf": [([1, 2, 1], 1)],
    "random.Random.shuffle": [(type("R", (), {"_randbelow": lambda s, n: 0})(), [1, 2, 3])],
    "enum._is_dunder": [("__a__",), ("a",)],
    "gettext.c2py": [("n != 1",)],
    "quopri.quote": [(b"=",)],
    "numbers.Complex.__sub__": [(1, 2)],
    "fractions._hash_algorithm": [(1, 2)],
}


class Program(NamedTuple):
    """A text that defines `f`, what else it finds, and what `f` is called with."""

    text: str
    calls: List[Tuple[Any, ...]]
    found: Dict[str, Any]
    # Of a program on spies, how it is run: the operation that raises, and of a generator the place
    # where something is done to it, and what.
    plan: Sequence[Tuple[int, int, str]] = ()


def of_library(path: str) -> Program:
    """Return a function of a module of the library; raises whatever finding it may raise."""
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
            break
        except ImportError:
            continue
    else:
        raise LookupError(path)
    function: Any = module
    for part in parts[count:]:
        function = getattr(function, part)
    function = inspect.unwrap(function)
    text = textwrap.dedent(inspect.getsource(function))
    lines = text.splitlines(True)
    while lines and lines[0].startswith("@"):
        lines.pop(0)
    text = "".join(lines) + f"f = {parts[-1]}\n"
    return Program(text, LIBRARY[path], dict(vars(module)))


def named(name: str, known: "Dict[str, Program]") -> Program:
    """Return a program by its name: one of those that are known, or one written at random."""
    if name in known:
        return known[name]
    rng = random.Random(f"plan {name}")
    found = {"Spy": Spy, "Stop": Stop, "note": note, "Prepared": Prepared}
    plan = [
        (0, -1, ""),
        *((rng.randrange(1, 16), rng.randrange(5), rng.choice(ACTS)) for _ in "1234"),
    ]
    is_endless = name.startswith(ENDLESS)
    if is_endless:
        plan = [(0, 0, "signal")]
    space = Space(found) if rng.random() < 0.3 else found
    return Program(written(name, is_endless), [], space, plan)


def programs(more: str = "") -> Dict[str, Program]:
    """Return all that this Python can compile; `more` is a file with another SMALL."""
    small = dict(SMALL)
    if more:
        given: Dict[str, Any] = {}
        with open(more, encoding="utf-8") as file:
            exec(compile(file.read(), more, "exec"), given)  # the user's own
        small = given["SMALL"]
    found = {}
    for name, (text, calls) in small.items():
        try:
            compile(text, name, "exec")
        except SyntaxError:
            continue
        found[name] = Program(text, calls, {})
    for path in () if more else LIBRARY:
        try:
            program = of_library(path)
            compile(program.text, path, "exec")
        except Exception:  # another version has it elsewhere, or not at all
            continue
        found[path] = program
    return found

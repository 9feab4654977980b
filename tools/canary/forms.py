# SPDX-License-Identifier: Apache-2.0
"""What may be written where: a table of which kinds of expression each place of the syntax takes.

An interpreter has its grammar in no form that can be read.  So each place is tried with each kind
of expression, and what compiles is told by a letter each: two versions with different letters
differ in their syntax.
"""

import warnings
from typing import Dict, List

# Each place has a hole.  Names bound in it are of no account, only whether it compiles.
PLACES = {
    "statement": "{}",
    "assigned value": "x = {}",
    "target": "{} = x",
    "second target": "x = {} = y",
    "augmented target": "{} += x",
    "augmented value": "x += {}",
    "annotated target": "{}: x",
    "annotation": "x: {}",
    "annotated value": "x: y = {}",
    "del": "del {}",
    "return": "def f():\n    return {}",
    "return of a coroutine": "async def f():\n    return {}",
    "yield": "def f():\n    yield {}",
    "raise": "raise {}",
    "raise from": "raise x from {}",
    "assert": "assert {}",
    "assert message": "assert x, {}",
    "if": "if {}:\n    pass",
    "while": "while {}:\n    pass",
    "for target": "for {} in x:\n    pass",
    "for iterable": "for x in {}:\n    pass",
    "with": "with {}:\n    pass",
    "with in parentheses": "with ({}):\n    pass",
    "with target": "with x as {}:\n    pass",
    "except": "try:\n    pass\nexcept {}:\n    pass",
    "except as": "try:\n    pass\nexcept {} as e:\n    pass",
    "except*": "try:\n    pass\nexcept* {}:\n    pass",
    "except* as": "try:\n    pass\nexcept* {} as e:\n    pass",
    "match": "match {}:\n    case _:\n        pass",
    "case": "match x:\n    case {}:\n        pass",
    "case of a list": "match x:\n    case [{}]:\n        pass",
    "case of a key": "match x:\n    case {{{}: y}}:\n        pass",
    "guard": "match x:\n    case _ if {}:\n        pass",
    "decorator": "@{}\ndef f(): pass",
    "default": "def f(a={}): pass",
    "parameter": "def f({}): pass",
    "parameter's annotation": "def f(a: {}): pass",
    "annotation of *args": "def f(*a: {}): pass",
    "return annotation": "def f() -> {}: pass",
    "type parameter's bound": "def f[T: {}](): pass",
    "type parameter's default": "def f[T = {}](): pass",
    "type parameter": "def f[{}](): pass",
    "type alias": "type X = {}",
    "base": "class A({}): pass",
    "class keyword": "class A(k={}): pass",
    "lambda": "lambda: {}",
    "lambda default": "lambda a={}: a",
    "argument": "f({})",
    "two arguments": "f({}, x)",
    "argument after **": "f(**x, {})",
    "keyword": "f(k={})",
    "*argument": "f(*{})",
    "**argument": "f(**{})",
    "subscript": "x[{}]",
    "subscript of two": "x[{}, y]",
    "slice": "x[{}:y]",
    "attribute": "({}).a",
    "list": "[{}]",
    "list of two": "[{}, x]",
    "set of two": "{{{}, x}}",
    "tuple": "({},)",
    "tuple without parentheses": "x = {}, y",
    "dict key": "{{{}: x}}",
    "dict value": "{{x: {}}}",
    "dict **": "{{**{}}}",
    "list comprehension": "[{} for x in y]",
    "set comprehension": "{{{} for x in y}}",
    "dict comprehension": "{{{} for x, z in y}}",
    "key of a dict comprehension": "{{{}: x for x in y}}",
    "value of a dict comprehension": "{{x: {} for x in y}}",
    "generator expression": "({} for x in y)",
    "generator as an argument": "f({} for x in y)",
    "generator beside an argument": "f(a, {} for x in y)",
    "target of a comprehension": "[x for {} in y]",
    "iterable of a comprehension": "[x for x in {}]",
    "iterable of a second for": "[x for y in z for x in {}]",
    "condition of a comprehension": "[x for x in y if {}]",
    "asynchronous comprehension": "async def f():\n    [{} async for x in y]",
    "walrus": "(x := {})",
    "walrus target": "({} := x)",
    "and": "{} and x",
    "not": "not {}",
    "minus": "-{}",
    "operand": "{} + x",
    "second operand": "x + {}",
    "power": "{} ** x",
    "comparison": "{} < x",
    "second comparison": "x < {}",
    "if-else": "{} if x else y",
    "condition": "x if {} else y",
    "else": "x if y else {}",
    "await": "async def f():\n    await {}",
    "yield from": "def f():\n    yield from {}",
    "f-string": "f'{{{}}}'",
    "f-string with another quote": "f'{{{}!r:>{{x}}}}'",
    "format of an f-string": "f'{{x:{{{}}}}}'",
    "template": "t'{{{}}}'",
    "import": "import {}",
    "import as": "import {} as x",
    "from": "from {} import x",
    "from import": "from m import {}",
    "from import of two": "from m import {}, y",
    "import in a function": "def f():\n    import {}",
    "global": "def f():\n    global {}",
    "nonlocal": "def g(a):\n    def f():\n        nonlocal {}",
    "finally": "try:\n    pass\nfinally:\n    {}",
    "loop's finally": "while x:\n    try:\n        pass\n    finally:\n        {}",
    "class body": "class A:\n    {}",
    "function body": "def f():\n    {}",
    "coroutine body": "async def f():\n    {}",
}
# What stands in the hole; each has a letter, which must stay what it is.
FILLERS = {
    "a": "a",
    "b": "a.b",
    "c": "a[b]",
    "d": "a()",
    "e": "1",
    "f": "'s'",
    "g": "f'{a}'",
    "h": "f'{a!r}' 'b'",
    "i": "f'{'a'}'",
    "j": "f'{a\\\n}'",
    "k": "*a",
    "l": "**a",
    "m": "a, b",
    "n": "*a, b",
    "o": "(a, b)",
    "p": "[a, *b]",
    "q": "{a, *b}",
    "r": "{**a, 'b': c}",
    "s": "a := b",
    "t": "(a := b)",
    "u": "lambda: a",
    "v": "a if b else c",
    "w": "not a",
    "x": "-a",
    "y": "a < b < c",
    "z": "a and b",
    "A": "await a",
    "B": "yield a",
    "C": "yield from a",
    "D": "a for a in b",
    "E": "[*a for a in b]",
    "F": "{**a for a in b}",
    "G": "{*a for a in b}",
    "H": "(*a for a in b)",
    "I": "[a async for a in b]",
    "J": "a:b",
    "K": "a=b",
    "L": "/, a",
    "M": "a | b",
    "N": "a as b",
    "O": "A(b, c=d)",
    "P": "{'a': b, **c}",
    "Q": "return",
    "R": "break",
    "S": "continue",
    "T": "return a",
    "U": "lazy import a",
    "V": "lazy from a import b",
    "W": "type A = b",
    "X": "print a",
    "Y": "t'{a}'",
    "Z": "t'{a}' t'{b}'",
    "0": "None",
    "1": "T: int = str",
    "2": "*T = *a",
    "3": "...",
    "4": "a.b, c",
    "5": "a: int",
    "6": "*, a",
    "7": "(yield)",
    "8": "not in",
    "9": "0777",
    "?": "a?.b",
    "!": "a!",
    "@": "a @ b",
    "<": "a <> b",
    "|": "a |> b",
    "$": "defer a",
    "%": "match a: b",
    "&": "(a as b)",
    "+": "a.lazy",
}


def letters(place: str) -> str:
    """Return the letters of what a place takes."""
    taken = ""
    for letter, filler in FILLERS.items():
        text = PLACES[place].format(filler)
        try:
            compile(text, "<form>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        taken += letter
    return taken


def table() -> Dict[str, str]:
    """Return what each place takes in the interpreter that runs this."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {place: letters(place) for place in PLACES}


def differences(before: Dict[str, str], now: Dict[str, str]) -> List[str]:
    """Say in words where the tables of two versions differ.

    An expression that is new as a statement is new everywhere, and told of once.
    """
    everywhere = set(before.get("statement", "")) ^ set(now.get("statement", ""))
    found = []
    for place in PLACES:
        known = everywhere if place != "statement" else set()
        said = []
        for what, some, others in (
            ("takes", now.get(place, ""), before.get(place, "")),
            ("no longer takes", before.get(place, ""), now.get(place, "")),
        ):
            letters = [x for x in some if x not in others and x in FILLERS and x not in known]
            if letters:
                said.append("%s %s" % (what, ", ".join(_shown(FILLERS[x]) for x in letters)))
        if said:
            text = PLACES[place].format("___")
            found.append("%s (%s) %s" % (place, _shown(text), "; ".join(said)))
    return found


def _shown(text: str) -> str:
    return "`%s`" % text.replace("\n", "\\n")

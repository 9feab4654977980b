"""Pairs of programs, and whether verify::compare may take one for the other.

Run by the interpreter whose bytecode is compared, this prints a JSON line a pair, ready for
pellucid_verify_pairs; test_verify.py feeds it. Bodies stand in `def f(a, b, c, *args, **kw)`.
"""

import json
import marshal
import sys
import textwrap

SAME = "same"  # identical or equivalent
DIFFERS = "differs"  # unproven

# Name, A, B; B may have more locals than A.
TEMPORARIES = [
    ("temporary for an argument", "x = f(g())\nreturn x", "t = g()\nx = f(t)\nreturn x", DIFFERS),
    (
        "temporaries in order of evaluation",
        "x = f(g())\nreturn x",
        "s = f\nt = g()\nx = s(t)\nreturn x",
        SAME,
    ),
    ("temporary for a result", "return f(a) + g(b)", "t = f(a)\nreturn t + g(b)", SAME),
    ("a call before its time", "return f(a) + g(b)", "t = g(b)\nreturn f(a) + t", DIFFERS),
    ("temporary deleted", "return f(a) + g(b)", "t = f(a)\nr = t + g(b)\ndel t\nreturn r", SAME),
    (
        "flag in place of a branch",
        "if a:\n f()\nelse:\n g()",
        "t = 0\nif a:\n t = 1\nif t == 1:\n f()\nelse:\n g()",
        SAME,
    ),
    (
        "flag the wrong way",
        "if a:\n f()\nelse:\n g()",
        "t = 1\nif a:\n t = 0\nif t == 1:\n f()\nelse:\n g()",
        DIFFERS,
    ),
    (
        "state machine for a loop",
        "while a():\n b()\nreturn c()",
        "s = 0\nwhile True:\n if s == 0:\n  if a():\n   s = 1\n  else:\n   s = 2\n elif s == 1:\n  b()\n"
        "  s = 0\n else:\n  return c()",
        SAME,
    ),
    (
        "state machine that skips a state",
        "while a():\n b()\nreturn c()",
        "s = 0\nwhile True:\n if s == 0:\n  if a():\n   s = 1\n  else:\n   s = 2\n elif s == 1:\n  b()\n"
        "  s = 2\n else:\n  return c()",
        DIFFERS,
    ),
    (
        "state machine inside a try",
        "try:\n while a():\n  b()\nexcept E:\n c()",
        "s = 0\ntry:\n while True:\n  if s == 0:\n   if not a():\n    break\n   s = 1\n  else:\n   b()\n"
        "   s = 0\nexcept E:\n c()",
        SAME,
    ),
    (
        "value of a conditional",
        "return f(a if b else c)",
        "s = f\nif b:\n t = a\nelse:\n t = c\nreturn s(t)",
        SAME,
    ),
    (
        "values of a conditional swapped",
        "return f(a if b else c)",
        "s = f\nif b:\n t = c\nelse:\n t = a\nreturn s(t)",
        DIFFERS,
    ),
    (
        "temporary that may be unbound",
        "if a:\n f()\nreturn b",
        "if a:\n f()\n t = b\nreturn t",
        DIFFERS,
    ),
    (
        "temporary that locals() sees",
        "f(g())\nreturn locals()",
        "s = f\nt = g()\ns(t)\nreturn locals()",
        DIFFERS,
    ),
    ("truth asked twice", "return a and b", "t = a\nif t:\n t = b\nreturn t", SAME),
    ("truth asked too often", "if a:\n f()", "t = a\nif t:\n pass\nif t:\n f()", DIFFERS),
    # Containers that nobody sees.
    ("list taken apart", "x = [a, b]\nreturn x[1]", "x = [a, b]\nreturn b", SAME),
    ("list that only A has", "x = [a, b]\nf(x[1])\nreturn x[0]", "f(b)\nreturn a", SAME),
    ("list that only B has", "f(b)\nreturn a", "t = [a, b]\nf(t[1])\nreturn t[0]", SAME),
    (
        "list grown and popped",
        "t = [a]\nt.append(b)\nt.extend((c,))\nx = t.pop()\nf(t[0], x, t[-1])",
        "x = c\nf(a, x, b)",
        SAME,
    ),
    (
        "list grown and popped by B",
        "x = c\nf(a, x, b)",
        "t = [a]\nt.append(b)\nt.extend((c,))\nx = t.pop()\nf(t[0], x, t[-1])",
        SAME,
    ),
    (
        "list popped from the wrong end",
        "x = c\nf(a, x, b)",
        "t = [a]\nt.append(b)\nt.extend((c,))\nx = t.pop(0)\nf(t[0], x, t[-1])",
        DIFFERS,
    ),
    ("list sliced", "f(b, c)", "t = [a, b, c]\nt = t[1:]\nf(t[0], t[1])", SAME),
    ("list part deleted", "f(a, c)", "t = [a, b, c]\ndel t[1:2]\nf(t[0], t[1])", SAME),
    ("list that was shown", "f([a])\nreturn a", "t = [a]\nf(t)\nreturn t[0]", DIFFERS),
    ("list shown, then grown", "g([a, b])", "s = g\nt = [a]\ns(t)\nt.append(b)", DIFFERS),
    ("one list or two", "f([], [])", "s = f\nt = []\ns(t, t)", DIFFERS),
    ("two lists or one", "x = []\nf(x, x)", "x = []\nf(x, [])", DIFFERS),
    ("tuple taken apart", "f(a, b)", "s = f\nt = (a, b)\nx1, x2 = t\ns(x1, x2)", SAME),
    ("list of arguments", "f(a, b)", "s = f\nt = [a]\nt.append(b)\ns(*t)", SAME),
    (
        "list of arguments that grows too late",
        "f(a)\ng(b)",
        "s = f\nt = [a]\ns(*t)\nt.append(b)\ng(t[0])",
        DIFFERS,
    ),
    ("one list as two arguments", "f([], [])", "s = f\nt = []\ns(*[t, t])", DIFFERS),
    (
        "bound method kept",
        "t = [a]\nm = t.append\nf(m is m)",
        "t = [a]\nf(t.append is t.append)",
        DIFFERS,
    ),
    (
        "cell named by a lambda",
        "x = (lambda: a).__closure__[0]\nreturn f(x), lambda: (a, b)",
        "t = (lambda: (a, b)).__closure__\nx = t[0]\nreturn f(x), lambda: (a, b)",
        DIFFERS,
    ),
    ("index out of range", "f(a)", "s = f\nt = [a]\nt[1]\ns(a)", DIFFERS),
]

# Name, A, B; the same locals in both.
STRICT = [
    ("extra local", "return f(a) + g(b)", "t = f(a)\nreturn t + g(b)", DIFFERS),
    ("lost store", "x = a\nf()", "f()", DIFFERS),
    ("lost store, name kept", "x = a\nf()\nx = b\nreturn x", "f()\nx = b\nreturn x", DIFFERS),
    ("store after an effect", "x = a\nf()\nreturn x", "f()\nx = a\nreturn x", DIFFERS),
    ("stores exchanged", "x = a\ny = b\nf()", "y = b\nx = a\nf()", DIFFERS),
    ("lost del", "x = f()\ndel x\nreturn g()", "x = f()\nreturn g()", DIFFERS),
    ("late del", "x = f()\ndel x\nreturn g()", "x = f()\nr = g()\ndel x\nreturn r", DIFFERS),
    ("late del, names kept", "x = f()\ndel x\ny = g()\nreturn y", "x = f()\ny = g()\ndel x\nreturn y", DIFFERS),
    ("del of an unbound local", "if a:\n x = b\ndel x", "if a:\n x = b\n del x", DIFFERS),
    ("unbound local read", "if a:\n x = b\nreturn x", "if a:\n x = b\n return x\nreturn None", DIFFERS),
    ("copy of a local", "x = a\nreturn f(x)", "x = a\nreturn f(a)", SAME),
    ("constant in a local", "x = 1\nreturn f(x)", "x = 1\nreturn f(1)", SAME),
    ("constant of another type", "x = 1\nreturn f(x)", "x = 1\nreturn f(True)", DIFFERS),
    ("signed zero", "return 0.0", "return -0.0", DIFFERS),
    ("global loads exchanged", "return g(a, f, h)", "return g(a, h, f)", DIFFERS),
    ("stack shuffled", "a, b = b, a\nreturn f(a, b)", "b, a = a, b\nreturn f(a, b)", DIFFERS),
    ("rotation of three", "a, b, c = c, a, b\nf(a, b, c)", "a, b, c = c, b, a\nf(a, b, c)", DIFFERS),
    ("not before a branch", "if not a:\n f()\nelse:\n g()", "if a:\n g()\nelse:\n f()", SAME),
    ("is not before a branch", "if a is not b:\n f()\nelse:\n g()", "if a is b:\n g()\nelse:\n f()", SAME),
    ("not in before a branch", "if a not in b:\n f()\nelse:\n g()", "if a in b:\n g()\nelse:\n f()", SAME),
    ("is None either way", "if a is not None:\n f()\nelse:\n g()", "if a is None:\n g()\nelse:\n f()", SAME),
    ("and as two ifs", "if a and b:\n f()", "if a:\n if b:\n  f()", SAME),
    ("or as a chain", "if a or b:\n f()\nelse:\n g()", "if not a and not b:\n g()\nelse:\n f()", SAME),
    ("test twice", "if a:\n f()", "if a:\n if a:\n  f()", DIFFERS),
    ("while and while true", "while a():\n b()\nc()", "while True:\n if not a():\n  break\n b()\nc()", SAME),
    ("endless loops", "while True:\n pass", "while True:\n while True:\n  pass", SAME),
    ("endless loop and an effect", "while True:\n pass", "f()", DIFFERS),
    ("effect and an endless loop", "f()", "while True:\n pass", DIFFERS),
    ("endless loop and a return", "return a", "while True:\n pass", DIFFERS),
    ("tail duplicated", "if a:\n x = f()\nelse:\n x = g()\nreturn h(x)", "if a:\n x = f()\n return h(x)\nx = g()\nreturn h(x)", SAME),
    ("try lost", "try:\n f()\nexcept E:\n g()", "f()", DIFFERS),
    ("try shorter", "try:\n f()\n g()\nexcept E:\n h()", "try:\n f()\nexcept E:\n h()\nelse:\n g()", DIFFERS),
    ("try with what cannot raise", "try:\n x = a\n f()\nexcept E:\n g()", "x = a\ntry:\n f()\nexcept E:\n g()", SAME),
    ("another handler", "try:\n f()\nexcept E:\n g()", "try:\n f()\nexcept E:\n h()", DIFFERS),
    ("finally by hand", "try:\n f()\nfinally:\n g()", "try:\n f()\nexcept:\n g()\n raise\ng()", DIFFERS),
    ("finally lost", "try:\n f()\nfinally:\n g()", "f()\ng()", DIFFERS),
    ("handling while calling", "try:\n f()\nexcept E:\n g()", "try:\n f()\nexcept E:\n pass\nelse:\n return\ng()", DIFFERS),
    ("with shorter", "with a:\n f()\n g()", "with a:\n f()\ng()", DIFFERS),
    ("with lost", "with a:\n f()", "a\nf()", DIFFERS),
    ("with nested", "with a:\n with b:\n  f()", "with a, b:\n f()", SAME),
    ("yield moved", "x = yield a\nf(x)", "f(a)\nx = yield a", DIFFERS),
    ("cell for its value", "def g():\n return a\nreturn g", "def g():\n return b\nreturn g", DIFFERS),
    ("store to a cell moved", "x = 1\nf()\nreturn lambda: x", "f()\nx = 1\nreturn lambda: x", DIFFERS),
    ("nested code differs", "return lambda: f(a)", "return lambda: g(a)", DIFFERS),
    ("nested code equivalent", "def g():\n if not a:\n  return 1\n return 2\nreturn g", "def g():\n if a:\n  return 2\n else:\n  return 1\nreturn g", SAME),
    ("nested default moved", "def g(x=f()):\n pass\nh()\nreturn g", "h()\ndef g(x=f()):\n pass\nreturn g", DIFFERS),
    ("attribute stores exchanged", "a.x = 1\na.y = 2", "a.y = 2\na.x = 1", DIFFERS),
    ("method call kept as attribute", "return a.f(b)", "x = a.f\nreturn x(b)", DIFFERS),
    ("elements exchanged", "return [a, b]", "return [b, a]", DIFFERS),
    ("a list is no tuple", "return [a, b]", "return (a, b)", DIFFERS),
    ("a tuple of constants built", "return (1, 2)", "x = 1\nreturn (x, 2)", DIFFERS),
    ("a tuple through a name", "x = 1\nreturn (1, 2)", "x = 1\nreturn (x, 2)", SAME),
    ("dictionary spelled otherwise", "x = 'k'\nreturn {'k': a, 'l': b}", "x = 'k'\nreturn {x: a, 'l': b}", SAME),
    ("augmented or not", "a += b\nreturn a", "a = a + b\nreturn a", DIFFERS),
    ("raise from", "raise a from b", "raise a", DIFFERS),
    ("generator", "for x in a:\n yield x", "yield from a", DIFFERS),
    ("except name kept", "try:\n f()\nexcept E as e:\n g(e)", "try:\n f()\nexcept E as e:\n g(e)\n e = None", DIFFERS),
    ("loop else", "for x in a:\n if x:\n  break\nelse:\n f()", "for x in a:\n if x:\n  break\nf()", DIFFERS),
    ("loop else unwound", "for x in a:\n if x:\n  break\nelse:\n f()\n return g()\nreturn g()", "for x in a:\n if x:\n  break\nelse:\n f()\nreturn g()", SAME),
    ("star call", "return f(*a, **b)", "return f(*a, *b)", DIFFERS),
    ("default argument object", "return f(x=a)", "return f(y=a)", DIFFERS),
    ("import moved", "import x\nf()", "f()\nimport x", DIFFERS),
]  # fmt: skip


def program(body):
    """Return the code of a module that defines `f` with this body."""
    source = "def f(a, b, c, *args, **kw):\n" + textwrap.indent(body, " ") + "\n"
    return compile(source, "case", "exec", 0, True, 0)


def main():
    """Print a line a pair, both ways around where only the locals of one are allowed to grow."""
    version = "%d.%d" % sys.version_info[:2]
    cases = [(*case, "extra_locals") for case in TEMPORARIES] + [(*case, "") for case in STRICT]
    for name, a, b, expected, options in cases:
        line = {"name": name, "expected": expected, "version": version, "options": options}
        line["a"] = marshal.dumps(program(a)).hex()
        line["b"] = marshal.dumps(program(b)).hex()
        print(json.dumps(line))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Compile files and list their code objects as `dis` sees them; run by the interpreter under test.

    python3.9 tools/dis_listing.py OUT --stdlib [--every N]    # every N-th file of the library
    python3.9 tools/dis_listing.py OUT FILE.py...

Writes OUT/<number>.pyc and OUT/<number>.dis. A listing has the form of `pellucid dump --stage=raw`:
for each code object a line with its first line and name, then for each instruction its offset,
name, argument, jump target and line, -1 where it has none. It runs on 3.8 and later, and inside
WebAssembly, so it imports nothing else of this repository.
"""

import dis
import importlib.util
import marshal
import os
import sys
import warnings


def jump_targets():
    """Return the opcodes whose argument `dis` shows as a target."""
    return set(dis.hasjrel) | set(dis.hasjabs)


def lines_of(code, instructions):
    """Return the line of each instruction, -1 for none."""
    if sys.version_info >= (3, 13):
        return [none_is_minus_one(instr.line_number) for instr in instructions]
    if sys.version_info >= (3, 11):
        return [none_is_minus_one(instr.positions.lineno) for instr in instructions]
    if sys.version_info >= (3, 10):
        line_at = {}
        for start, end, line in code.co_lines():
            line_at.update((at, line) for at in range(start, end, 2))
        return [none_is_minus_one(line_at.get(instr.offset)) for instr in instructions]
    lines = []
    line = code.co_firstlineno
    for instr in instructions:
        if instr.starts_line is not None:
            line = instr.starts_line
        lines.append(line)
    return lines


def none_is_minus_one(line):
    """Return the line as the listing writes it."""
    return -1 if line is None else line


def ascii_repr(text):
    """Return 'text' with every character that is not plain ASCII escaped, quotes included."""
    out = []
    for char in text:
        point = ord(char)
        if char == "\n":
            out.append("\\n")
        elif char in "'\\":
            out.append("\\" + char)
        elif 0x20 <= point < 0x7F:
            out.append(char)
        else:
            form = "\\x%02x" if point < 0x100 else "\\u%04x" if point < 0x10000 else "\\U%08x"
            out.append(form % point)
    return "'%s'" % "".join(out)


def listing(root):
    """Return the text for a code object and all nested ones, outer ones first."""
    out = []
    seen = set()
    jumps = jump_targets()
    todo = [root]
    while todo:
        code = todo.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        nested = [const for const in code.co_consts if hasattr(const, "co_code")]
        todo.extend(reversed(nested))
        out.append("raw %d %s\n" % (code.co_firstlineno, ascii_repr(code.co_name)))
        instructions = list(dis.get_instructions(code))
        for instr, line in zip(instructions, lines_of(code, instructions)):
            if instr.opname in ("EXTENDED_ARG", "CACHE"):
                continue
            target = instr.argval if instr.opcode in jumps else -1
            arg = 0 if instr.arg is None else instr.arg
            out.append("%d %s %d %d %d\n" % (instr.offset, instr.opname, arg, target, line))
    return "".join(out)


def stdlib():
    """Yield (name, source) of the standard library, of its tests too."""
    home = os.path.dirname(os.__file__)
    for folder, folders, files in os.walk(home):
        folders[:] = sorted(set(folders) - {"site-packages", "__pycache__"})
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.endswith(".py") and os.path.exists(path):  # not a link to what is not there
                with open(path, "rb") as source:
                    yield os.path.relpath(path, home), source.read()


def chosen(arguments):
    """Yield the (name, source) that the command line asks for."""
    if arguments[0] != "--stdlib":
        for path in arguments:
            with open(path, "rb") as source:
                yield path, source.read()
        return
    every = int(arguments[2]) if len(arguments) > 2 else 1
    for index, item in enumerate(stdlib()):
        if index % every == 0:
            yield item


def main(arguments):
    """Write the pairs of files."""
    out = arguments[0]
    os.makedirs(out, exist_ok=True)
    sys.setrecursionlimit(20000)
    warnings.simplefilter("ignore")
    number = 0
    for name, source in chosen(arguments[1:]):
        try:
            code = compile(source, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            # Among the standard library's tests are files that must not compile.
            continue
        with open(os.path.join(out, "%05d.pyc" % number), "wb") as pyc:
            pyc.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        with open(os.path.join(out, "%05d.dis" % number), "w", encoding="ascii") as text:
            text.write(listing(code))
        number += 1


if __name__ == "__main__":
    main(sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""What pellucid's tables say of the versions that it knows, read from the sources as text."""

import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

Version = Tuple[int, int]


class Opcode(NamedTuple):
    """One row of src/bytecode/raw/<version>.def."""

    number: int
    kinds: str
    cache_units: int


class Meaning(NamedTuple):
    """The versions for which a row of src/bytecode/meanings.cpp holds, by minor number."""

    name: str
    first: int
    last: int


RAW = "src/bytecode/raw/{}.{}.def"
_ROW = re.compile(r"^RAW\((\d+), (\w+), ([^,]+), (\d+)\)$", re.MULTILINE)
_MEANING = re.compile(
    r'^ *\{"(\w+)", (?:(kAll)|since\((\d+)\)|until\((\d+)\)|\{(\d+), (\d+)\}),', re.MULTILINE
)
_NODE = re.compile(r"^NODE\((\w+), (\w+),((?:[^()]|\([^()]*\))*)\)", re.MULTILINE)
_NEWEST = 1000


def parse_opcodes(text: str) -> List[Tuple[str, Opcode]]:
    """Return the rows of a table of opcodes, each with its name."""
    return [(m[2], Opcode(int(m[1]), m[3], int(m[4]))) for m in _ROW.finditer(text)]


class Tables:
    """The tables of one tree of sources."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def text(self, path: str) -> str:
        """Return a file of the tree; empty where it is not."""
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except OSError:
            return ""

    def opcodes(self, version: Version) -> Optional[Dict[str, Opcode]]:
        """Return the opcodes of a version by name; None for a version without a table."""
        return dict(parse_opcodes(self.text(RAW.format(*version)))) or None

    def versions(self) -> List[Version]:
        """Return the versions that have a table of opcodes, oldest first."""
        folder = self.root / "src" / "bytecode" / "raw"
        names = [re.fullmatch(r"(\d+)\.(\d+)\.def", p.name) for p in folder.glob("*.def")]
        return sorted((int(m[1]), int(m[2])) for m in names if m)

    def meanings(self) -> List[Meaning]:
        """Return the rows of meanings.cpp."""
        found = []
        for m in _MEANING.finditer(self.text("src/bytecode/meanings.cpp")):
            first, last = 0, _NEWEST
            if m[3]:
                first = int(m[3])
            elif m[4]:
                last = int(m[4])
            elif m[5]:
                first, last = int(m[5]), int(m[6])
            found.append(Meaning(m[1], first, last))
        return found

    def magic_numbers(self) -> List[Tuple[int, int, Version]]:
        """Return the ranges of magic numbers that are read, each with its version."""
        table = re.search(
            r"MagicRange kMagic\[\] = \{(.*?)\n\};", self.text("src/object/pyc.cpp"), re.DOTALL
        )
        rows = re.findall(r"\{(\d+), (\d+), \{(\d+), (\d+)\}\}", table[1] if table else "")
        return [(int(a), int(b), (int(c), int(d))) for a, b, c, d in rows]

    def marshal_codes(self) -> str:
        """Return the type codes that the reader of marshal data knows."""
        text = self.text("src/object/marshal_reader.cpp")
        return "".join(re.findall(r"(?:case |type == )'(.)'", text))

    def code_layout(self) -> List[Tuple[str, bool]]:
        """Return the fields of the newest code objects in marshal's order; True for a number."""
        arrays = re.findall(
            r"constexpr Field \w+\[\] = \{(.*?)\};",
            self.text("src/object/code_layout.cpp"),
            re.DOTALL,
        )
        names = re.findall(r"Field::(\w+)", arrays[-1]) if arrays else []
        listed = re.search(
            r"enum class Field[^{]*\{(.*?)\}", self.text("src/object/code_layout.h"), re.DOTALL
        )
        order = re.findall(r"^\s*(\w+)", listed[1].replace(",", "\n"), re.M) if listed else []
        numbers = {*order[: order.index("Flags") + 1], "FirstLineNo"} if "Flags" in order else set()
        return [(name, name in numbers) for name in names]

    def code_flags(self) -> List[int]:
        """Return the bits of a code object's flags that have a name."""
        return [
            int(number, 16)
            for number in re.findall(r"\bk\w+ = (0x[0-9a-fA-F]+)", self.text("src/object/code.h"))
        ]

    def nodes(self) -> Dict[str, List[str]]:
        """Return the fields of each node of the syntax tree."""
        text = re.sub(r"//[^\n]*", "", self.text("src/ast/nodes.def"))
        return {m[1]: re.findall(r"FIELD\(\w+, (\w+)\)", m[3]) for m in _NODE.finditer(text)}

    def version_tests(self) -> List[Tuple[str, int]]:
        """Return the files that ask for a version of Python, with how often they do."""
        found = []
        for folder, suffixes, pattern in (
            ("src", (".cpp", ".h"), r"\bminor(?:_|\(\))?\b *(?:[<>=!]=|[<>])|\bsince\(\d+\)"),
            ("python", (".py",), r"sys\.version_info *(?:\[[^]]*\] *)?(?:[<>=!]=|[<>])"),
            ("tools", (".py",), r"\bVERSION *[<>]=?|sys\.version_info *(?:[<>=!]=|[<>])"),
        ):
            for path in sorted((self.root / folder).rglob("*")):
                place = str(path.relative_to(self.root))
                if path.suffix in suffixes and not place.startswith("tools/canary"):
                    text = path.read_text(encoding="utf-8")
                    count = len(re.findall(pattern, text))
                    if path.name != "meanings.cpp" and count:
                        found.append((place, count))
        return found

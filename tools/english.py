# SPDX-License-Identifier: Apache-2.0
"""Find habits in the text that users read which a native speaker would not write.

Each row of HABITS is a habit, the pattern that finds it, and what to write instead. Only habits
that are nearly always wrong are listed; EXCUSED names the few places that are right.

Text that is read: Markdown outside code, HTML templates, strings of the scripts of both pages,
comments of public headers, docstrings of the public Python API, and every string of three words or
more in python/pellucid.
"""

import ast
import re
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

ROOT = Path(__file__).resolve().parent.parent

BE = r"\b(?:is|are|was|were|be|been)"
NO_THERE = "".join(f"(?<!there {word})" for word in ("", "will ", "would ", "can ", "may "))

RIGHT_AFTER_NO = (
    r"longer|more|less|such|different|worse|way|need|one\b|"
    r"(?:bett|great|larg|small|slow|fast|high|low|new|old|lat|earli|deep|furth|wid)er\b"
)

HABITS: Dict[str, Tuple[str, str]] = {
    "outside of": (r"\boutside of\b", "outside"),
    "is no": (NO_THERE + BE + r" no (?!" + RIGHT_AFTER_NO + r")[\w~]+", "is not a"),
    "hand in": (r"(?<!by )\bhand(?:s|ed|ing)? (?:\S+ ){0,3}in\b(?! hand)", "pass"),
    "made of": (
        r"\b(?:made|makes?|making) (?!use |sure |up |part |a copy |copies |a list )"
        r"(?:(?!use\b|copy\b|list\b)[^\s.]+ ){0,4}?of (?:it|them|a|an|all)\b",
        "generated from, turns into",
    ),
    "what was made": (r"(?-i:\bWhat) \S+ (?:made|makes)\b", "what was generated or produced"),
    "parts from": (r"(?<!all )\bparts? from\b(?! which)", "diverges from"),
    "other than": (BE + r" other than\b|\banother than\b", "differs from"),
    "other for different": (r"\b(?:has|have) other(?=[:.,;]|$)|\bin other orders?\b", "different"),
    "told": (BE + r" told\b|\btells? (?:no|of)\b", "reported"),
    "said": (BE + r" said\b(?! to\b)|\bsays? of\b|\bnot say why\b", "reported; gives no reason"),
    "where for if": (
        r"\bwhere (?:there (?:is|are)|nobody|nothing|none|one is|\S+ is installed)\b",
        "if",
    ),
    "take back": (
        r"\btak(?:e|es|en|ing) (?:\S+ ){0,3}?(?:back|away)\b|\btook (?:\S+ ){0,3}?(?:back|away)\b",
        "unset, remove",
    ),
    "mend": (r"\bmend(?:s|ed|ing)?\b", "fix"),
    "anew": (r"\banew\b", "again; re-"),
    "begun again": (r"\bbeg[iau]ns? again\b", "restarted"),
    "in front": (r"\bin front\b(?! of)", "first, before"),
    "behind its name": (r"\bbehind (?:its|their|his) own\b", "under"),
    "stands": (
        r"\b(?:stands?|stood) (?:at|on|twice|beside|there|under|above|before|behind|first|where|"
        r"after|alone|together|below|in (?!for\b))",
        "is, appears",
    ),
    "lines answer": (r"\blines answer\b", "are a summary"),
    "as X has it": (r"\bas \S+ ha(?:s|ve) (?:it|them)\b", "like X"),
    "who reads": (
        r"(?:^|(?<=[.;] )|(?<=\bdoes )|(?<=\bis ))who \w+s\b(?![^.]*\?)",
        "if you; whoever",
    ),
    "to be had": (r"\bto be had\b", "available"),
    "mind whom": (r"\bmind whom\b", "share with care"),
    "a for per": (
        r"\b(?:rows?|folders?|lines?|objects?|versions?|statements?|operations?|values|columns?|"
        r"kinds?|steps|blocks|files|seconds|ms|[KMG]iB) a (?:compile|version|file|type|line|call|"
        r"frame|graph|name|byte|instruction|row|layer|rank|process|release|payload)\b",
        "per",
    ),
    "of its own": (r"\bof (?:its|their|his|our|your|my) own\b", "its own; separate"),
    "of yours": (r"\bof (?:ours|yours|theirs)\b", "your"),
    "goes on": (r"\bgo(?:es)? on\b(?! strike)|\bwent on\b", "continues"),
    "compile again": (r"\bcompil(?:e|es|ed|ing)(?: \S+)? again\b", "recompile"),
    "passed by": (r"\bpass(?:es|ed)? (?:\S+ ){0,3}?by(?=[.,;:)(]|$| without)", "skipped"),
    "exit status": (r"\bexit status", "exit code"),
    "without a word": (r"\bwithout a word\b", "silently"),
    "asks for nothing": (r"\basks? for no(?:thing)?\b", "self-contained"),
    "a part of a graph": (r"\ba part of a\b", "part of a"),
    "are alike": (BE + r" alike\b", "the same"),
    "thereof": (r"\b(?:there|where)(?:of|in|upon|with)\b", "of it, in it"),
    "sure:": (r"\bsure: ", "confidence:"),
    "dearest": (r"\bdear(?:er|est)\b", "most expensive"),
    "comes of": (r"\bc(?:omes?|ame) of\b", "comes from"),
    "does as well": (r"\bdo(?:es)? as well\b", "also works"),
    "lets go": (r"\blets go\b", "releases, unpins"),
    "was met": (r"\bmet (?:\d|once|twice|first)", "seen"),
    "on PATH": (r"\blooked for on\b", "searched for on"),
    "keep it a": (r"\bke(?:ep|eps|pt) (?:it|them) an?\b", "keep it as a"),
    "other X than": (r"\bother \w+ than\b", "different X from"),
    "only where": (r"\bonly where\b(?! (?:needed|necessary|possible))", "only if"),
    "that are there": (r"\bthat (?:is|are|was|were) (?:already )?there\b", "existing"),
    "how large it is depends": (r"\bhow \w+ [^.,;]{1,40} is depends\b", "its size depends"),
    "comes to nothing": (r"\bc(?:omes?|ame) to nothing\b", "is discarded, has no effect"),
    "this way to": (r"\bthis way to\b(?! go\b)", "this way of, this use of"),
    "however deep": (r"\bhowever deep\b", "the limit, in figures"),
}

EXCUSED: Dict[Tuple[str, str], str] = {}
"""(file, words): why the habit is right there."""

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Text = Tuple[int, str]


class Found(NamedTuple):
    """A habit in a text."""

    file: str
    line: int
    habit: str
    words: str


def habits(text: str) -> Iterator[Tuple[str, str]]:
    """Yield each habit in a text on one line, with the words.

    >>> list(habits("Names that are no identifiers are renamed"))
    [('is no', 'are no identifiers')]
    """
    for habit, pattern in COMPILED.items():
        for match in pattern.finditer(text):
            yield habit, match[0]


COMPILED = {habit: re.compile(pattern, re.I) for habit, (pattern, _) in HABITS.items()}


def _blank(match: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", "~", match[0])


def markdown(text: str) -> Iterator[Text]:
    """Yield the paragraphs of a page, without code and comments."""
    for pattern in (r"^ *```.*?^ *```", r"<!--.*?-->", r"`[^`]+`", r"\]\([^)]*\)"):
        text = re.sub(pattern, _blank, text, flags=re.M | re.S)
    line = 1
    for part in re.split(r"(\n\s*\n|\n(?=[-|#>*]))", text):
        yield line, part.replace("\n", " ")
        line += part.count("\n")


def template(text: str) -> Iterator[Text]:
    """Yield the words between the tags of a page's template."""
    for pattern in (r"<(script|style).*?</\1>", r"\{[%#{].*?[%#}]\}", r"<[^>]*>"):
        text = re.sub(pattern, _blank, text, flags=re.S)
    yield from enumerate(text.splitlines(), 1)


def script(text: str) -> Iterator[Text]:
    """Yield the strings of a page's script that have a space."""
    for match in re.finditer(r"""(['"`])((?:(?!\1)[^\n\\]|\\.)*)\1""", text):
        if " " in match[2]:
            yield text.count("\n", 0, match.start()) + 1, match[2]


def comments(text: str) -> Iterator[Text]:
    """Yield the comments of a C++ header, those of successive lines as one."""
    begin, words = 0, ""
    for line, whole in enumerate([*text.splitlines(), ""], 1):
        comment = re.match(r"\s*//[/!]? ?(.*)", whole) or re.search(r"\s//[/!]?<? ?(.*)", whole)
        if comment:
            begin, words = (begin, f"{words} {comment[1]}") if words else (line, comment[1])
        elif words:
            yield begin, words
            words = ""


def _words(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_words, node.values))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return "~"


def strings(text: str, public: bool) -> Iterator[Text]:
    """Yield the strings of a module of three words or more; docstrings only if it is public."""
    tree = ast.parse(text)
    skipped = {id(node.value) for node in _of(tree, ast.Expr)}
    if public:
        named = (node for node in _of(tree, *SCOPES) if not node.name.startswith("_"))
        skipped -= {id(node.body[0].value) for node in named if isinstance(node.body[0], ast.Expr)}
    for joined in _of(tree, ast.JoinedStr):
        skipped.update(id(part) for part in joined.values)
    for node in _of(tree, ast.Constant, ast.JoinedStr):
        words = _words(node)
        if id(node) not in skipped and words.count(" ") > 1:
            yield node.lineno, " ".join(words.split())


def _of(tree: ast.AST, *kinds: type) -> Iterator[Any]:
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def public_modules() -> List[str]:
    """Return the modules whose docstrings the reference shows."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    names = re.findall(r"^::: (\S+)\.\w+$", page, flags=re.M)
    return ["python/" + name.replace(".", "/") for name in names] + ["python/pellucid/__init__"]


def files() -> Iterator[Tuple[str, Iterator[Text]]]:
    """Yield each file that is read, and its texts."""
    folders = ("docs", "gallery", "web/npm")
    pages = [*ROOT.glob("*.md"), *(path for f in folders for path in (ROOT / f).rglob("*.md"))]
    for path in pages:
        yield _name(path), markdown(path.read_text(encoding="utf-8"))
    for path in (ROOT / "python" / "pellucid").rglob("*.html"):
        yield _name(path), template(path.read_text(encoding="utf-8"))
    scripts = [*(ROOT / "python" / "pellucid" / "report").rglob("*.js")]
    for path in [*scripts, *(ROOT / "web" / "page" / "src").rglob("*.ts")]:
        yield _name(path), script(path.read_text(encoding="utf-8"))
    for path in (ROOT / "include").rglob("*.h"):
        yield _name(path), comments(path.read_text(encoding="utf-8"))
    public = public_modules()
    for path in (ROOT / "python" / "pellucid").rglob("*.py"):
        name = _name(path)
        yield name, strings(path.read_text(encoding="utf-8"), name[:-3] in public)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def found() -> Iterator[Found]:
    """Yield each habit that is found and not excused."""
    for name, texts in files():
        for line, text in texts:
            for habit, words in habits(text):
                if (name, words) not in EXCUSED:
                    yield Found(name, line, habit, words)


def main() -> int:
    """Print what is found; return the exit code."""
    all_found = sorted(found())
    for one in all_found:
        print(f"{one.file}:{one.line}: {one.words!r}; better: {HABITS[one.habit][1]}")
    return int(bool(all_found))


if __name__ == "__main__":
    sys.exit(main())

"""The documentation is true: its outputs are what its commands print, no link is dead."""

import importlib.metadata
import posixpath
import re
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import docs_examples
import pytest
import warm
from browsing import READERS, faults
from browsing import browser as browser
from commands import run
from needs import ROOT, need
from pellucid.__main__ import make_parser

ATTRIBUTES = {"a": "href", "img": "src", "link": "href", "script": "src", "iframe": "src"}


@pytest.mark.slow
@pytest.mark.parametrize("folder", docs_examples.used_folders())
def test_outputs_are_what_the_commands_print(folder: str) -> None:
    python = sys.executable
    sources = (docs_examples.EXAMPLES / folder).glob("*.py")
    if any("torch" in source.read_text(encoding="utf-8") for source in sources):
        need("torch")
        made_with = docs_examples.MADE_WITH
        here = sys.version_info[:2], importlib.metadata.version("torch").partition("+")[0]
        if here != (made_with["python"], made_with["torch"]):
            pytest.skip(f"the outputs are those of {made_with}, not of {here}")
        python = warm.python(docs_examples.environment(Path()))
    assert "".join(docs_examples.differences(folder, update=False, python=python)) == ""


def test_the_reference_has_each_command() -> None:
    (below,) = make_parser()._subparsers._group_actions  # type: ignore[union-attr]
    page = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## pellucid (\S+)$", page, re.MULTILINE)
    assert sorted([*sections, "help"]) == sorted(below.choices)  # type: ignore[arg-type]


PAGE = """\
<!-- in: first -->
<!-- file [from def; to     if]: toy.py -->
<!-- run [status 3; numbers]: echo took 12 of 3; exit 3 -->
<!-- run: echo here; echo 1.23 s >&2 -->
<!-- show [as text; first 1]: made.txt -->
"""


@pytest.fixture
def runner(tmp_path: Path) -> docs_examples.Runner:
    return docs_examples.Runner(tmp_path)


def test_blocks_are_made_of_comments(runner: docs_examples.Runner) -> None:
    page = PAGE.replace("echo here;", "echo $PWD; printf 'a\\nb\\n' > made.txt;")
    made = docs_examples.remade(page, runner)
    assert made.count("```") == 8
    assert "def toy_example(a, b):\n    x = a / (torch.abs(a) + 1)\n```" in made
    assert "$ echo took 12 of 3; exit 3\ntook 12 of 3\n```" in made
    assert "\n/home/you/project\n1.23 s\n```" in made
    assert '```text title="made.txt"\na\n…\n```' in made
    assert docs_examples.remade(made, runner) == made


def test_what_varies_stays_and_what_does_not_is_told(runner: docs_examples.Runner) -> None:
    page = PAGE.rpartition("<!-- show")[0]
    made = docs_examples.remade(page, runner)
    other = made.replace("took 12 of 3\n```", "took 99 of 4\n```").replace(
        "1.23 s\n```", "9.87 s\n```"
    )
    assert other != made
    assert docs_examples.remade(other, runner) == other, "figures are not compared"
    wrong = other.replace("\nhere\n", "\nthere\n")
    assert docs_examples.remade(wrong, runner) == made.replace(
        "took 12 of 3\n```", "took 99 of 4\n```"
    )


def test_torchs_log_is_left_out(runner: docs_examples.Runner) -> None:
    said = "W1126 11:26:11.496000 886 torch/_dynamo/variables/tensor.py:1759] [1/0] Graph break"
    page = f"<!-- in: first -->\n<!-- run: echo '{said}'; echo W1 -->\n"
    assert docs_examples.remade(page, runner).endswith("echo W1\nW1\n```\n")


def test_a_command_that_fails_is_an_error(runner: docs_examples.Runner) -> None:
    page = "<!-- in: first -->\n<!-- run: echo why; false -->\n"
    with pytest.raises(RuntimeError, match="exits with 1:\nwhy"):
        docs_examples.remade(page, runner)


def test_a_line_that_is_not_there_is_an_error(runner: docs_examples.Runner) -> None:
    with pytest.raises(LookupError, match="no line has 'nowhere'"):
        docs_examples.remade("<!-- in: first -->\n<!-- file [from nowhere]: toy.py -->\n", runner)


def test_every_example_is_in_a_page() -> None:
    told: Dict[str, str] = {}  # what pages and files of a folder say of its files
    for page in docs_examples.pages():
        folder = ""
        for found in docs_examples.BLOCK.finditer(page.read_text(encoding="utf-8")):
            folder = found["what"] if found["kind"] == "in" else folder
            told[folder] = f"{told.get(folder, '')}\n{found[0]}"
    unused = []
    for path in sorted(docs_examples.EXAMPLES.glob("*/*.*")):
        siblings = [other for other in path.parent.glob("*.py") if other != path]
        texts = [other.read_text(encoding="utf-8") for other in siblings]
        if path.name not in "\n".join([told.get(path.parent.name, ""), *texts]):
            unused.append(path)
    assert unused == []


class Links(HTMLParser):
    """What a page of the site links to, and the places in it that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.to: List[Tuple[str, str]] = []
        self.places: Set[str] = set()

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Any]]) -> None:
        found = dict(attrs)
        self.places.update(found[name] for name in ("id", "name") if found.get(name))
        if found.get(ATTRIBUTES.get(tag, "")):
            self.to.append((tag, found[ATTRIBUTES[tag]]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for module in ("mkdocs", "material", "mkdocstrings"):
        need(module)
    folder = tmp_path_factory.mktemp("site")
    done = run(
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "-d",
        folder,
        "-f",
        ROOT / "mkdocs.yml",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    pages: Dict[str, Links] = {}
    for file in site.rglob("*.html"):
        pages[file.relative_to(site).as_posix()] = links = Links()
        links.feed(file.read_text(encoding="utf-8"))
    assert len(pages) > 20
    dead = []
    for name, links in pages.items():
        if name == "404.html":  # its links are from the root of a server
            continue
        for tag, to in links.to:
            url = urllib.parse.urlsplit(to)
            if url.scheme or url.netloc:
                good = tag == "a" and url.scheme == "https" and "." in url.netloc
            elif not url.path:
                good = not url.fragment or urllib.parse.unquote(url.fragment) in links.places
            else:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(name), url.path))
                wanted = pages.get(path)
                good = (site / path).is_file()
                if good and url.fragment and wanted is not None:
                    good = urllib.parse.unquote(url.fragment) in wanted.places
            if not good:
                dead.append(f"{name}: {to}")
    assert dead == []


def test_the_search_of_the_site_works_from_a_folder(site: Path, browser: Any) -> None:
    page = browser.new_page()
    found = page.locator(".md-search-result__meta")
    for query, words in (("recompile", r"\d+ matching documents"), ("zyzzyva", "No matching")):
        # A script finds its way from there, too.
        page.goto(f"{(site / 'tasks' / 'nan.html').as_uri()}?q={query}")
        found.filter(has_text=re.compile(words)).wait_for(state="attached")
    page.close()


def test_the_site_is_accessible(site: Path, browser: Any) -> None:
    for reader, name in (
        ("light", "index"),
        ("dark", "decompiling/analysts"),
        ("narrow", "install"),
    ):
        context = browser.new_context(bypass_csp=True, **READERS[reader])
        page = context.new_page()
        page.goto((site / f"{name}.html").as_uri())
        page.locator(".md-search-result__meta").wait_for(state="attached")
        assert faults(page) == [], (reader, name)
        context.close()


def test_what_is_copied_and_downloaded(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    copied = re.findall(r'data-clipboard-text="([^"]*)"', index)
    assert "pellucid run --out dump toy.py" in copied, "no prompt, and nothing that it prints"
    assert any(text.startswith("import torch\n") for text in copied)
    assert '<a href="assets/downloads/first/toy.py" download>' in index
    analysts = (site / "decompiling" / "analysts.html").read_text(encoding="utf-8")
    assert "Run <code>python make.py</code> first" in analysts
    reference = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert 'id="pellucid.decompile"' in reference and "pellucid.prepare_debug" in reference


PAGES = [
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
]


@pytest.mark.parametrize("name", PAGES)
def test_no_link_of_a_page_is_dead_in_the_repository(name: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    found = [to for to in re.findall(r"\]\(([^)\s]+)\)", text) if not to.startswith("https://")]
    folder = (ROOT / name).parent
    assert [to for to in found if not (folder / to.partition("#")[0]).exists()] == []

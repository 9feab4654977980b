# SPDX-License-Identifier: Apache-2.0
"""What MkDocs asks for while it builds the site: pages from the root, links to sources, doctests.

ARCHITECTURE.md and the like stay where people look for them, and are pages of the site as well. A
link from a page to a file that is not a page (a header) becomes the file's name. The files of the
examples can be downloaded, and a button copies the commands of a block without what they print.
"""

import html
import posixpath
import re
from pathlib import Path
from typing import Any, List

from griffe import Extension
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = (
    *("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    "gallery/README.md",
)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]*)\]\((?P<to>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
DOWNLOADS = "assets/downloads"
EXAMPLES = ROOT / "docs" / "examples"
IN = re.compile(r"<!-- in: ([\w-]+) -->")
AT = r"<!-- in: %s -->(?:\s*<!-- file[^>]*-->\s*<div class=\"language-(?s:.*?)</pre></div>)?"
HIDDEN = re.compile(r"<!-- run \[hidden\]: (python \w+\.py) -->")
PROMPTS = {"console": ("$ ",), "pycon": (">>> ", "... ")}
# A block as the highlighter writes it; the signatures of the reference are another class.
BLOCK = re.compile(
    r'(?P<before><div class="language-(?P<language>\w+) highlight">(?:<span class="filename">[^<]*'
    r"</span>)?)<pre>(?P<code><span></span><code>.*?</code>)</pre>",
    re.DOTALL,
)
FENCED = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Doctests(Extension):  # type: ignore[misc]
    """Examples in docstrings are code, wherever they stand in it."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Put fences around the examples of a docstring."""
        if obj.docstring is not None:
            text = obj.docstring.value.replace("  # doctest: +SKIP", "")
            obj.docstring.value = DOCTEST.sub(lambda m: f"```pycon\n{m[0]}\n```", text)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie elsewhere in the repository."""
    for name in FROM_ROOT:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    for path in EXAMPLES.glob("*/*.*"):
        uri = f"{DOWNLOADS}/{path.parent.name}/{path.name}"
        files.append(File.generated(config, uri, content=path.read_bytes()))
    return files


def on_page_content(text: str, page: Any, **_: Any) -> str:
    """Let the reader copy the commands of each block, and download the files of the examples."""
    text = BLOCK.sub(_with_button, text)
    for folder in dict.fromkeys(IN.findall(page.markdown)):
        # Below the file itself, if the example begins with one.
        found = re.search(AT % folder, text)
        if found is not None:
            downloads = _downloads(folder, posixpath.dirname(page.url), page.markdown)
            text = text[: found.end()] + downloads + text[found.end() :]
    return text


def _with_button(found: "re.Match[str]") -> str:
    shown = html.unescape(re.sub(r"<[^>]*>", "", found["code"])).rstrip("\n")
    copied = "\n".join(commands_of(found["language"], shown))
    if not copied:
        return found[0]
    what = "Copy" if copied == shown else "Copy the commands"
    button = (
        f'<div class="md-code__nav"><button class="md-code__button" title="{what}" '
        f'aria-label="{what}" data-clipboard-text="{html.escape(copied)}" data-md-type="copy">'
        "</button></div>"
    )
    return f"{found['before']}<pre>{button}{found['code']}</pre>"


def commands_of(language: str, text: str) -> List[str]:
    """Return what a reader types of a block: its commands, or all of it if it has no prompts.

    >>> commands_of("console", "$ make demo\\nbuilt\\n$ ls")
    ['make demo', 'ls']
    >>> commands_of("pycon", ">>> for i in x:\\n...     print(i)\\n1")
    ['for i in x:', '    print(i)']
    >>> commands_of("python", "x = 1")
    ['x = 1']
    """
    prompts = PROMPTS.get(language)
    if prompts is None:
        return text.split("\n")
    return [line[len(prompts[0]) :] for line in text.split("\n") if line.startswith(prompts)]


def _downloads(folder: str, here: str, markdown: str) -> str:
    """Return links to the files of an example, with the command that makes the others."""
    links = [
        f'<a href="{posixpath.relpath(f"{DOWNLOADS}/{folder}/{path.name}", here or ".")}" download>'
        f"<code>{path.name}</code></a>"
        for path in sorted((EXAMPLES / folder).glob("*.*"))
    ]
    if not links:
        return ""
    made = HIDDEN.search(markdown)
    first = f" Run <code>{html.escape(made[1])}</code> first: it makes the others." if made else ""
    return f'<p class="downloads">To try it yourself, download {", ".join(links)}.{first}</p>'


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search, which has no name of its own."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links lead to pages of the site, and name what is none."""
    name = page.file.src_uri
    # Where the page lies in the repository, seen from its root.
    folder = posixpath.dirname(name if name in FROM_ROOT else posixpath.join("docs", name))

    def led(found: "re.Match[str]") -> str:
        to = found["to"]
        if re.match(r"\w+:", to):
            return found[0]
        path = posixpath.normpath(posixpath.join(folder, to))
        uri = (
            path if path in FROM_ROOT else path[len("docs/") :] if path.startswith("docs/") else ""
        )
        if uri and files.get_file_from_path(uri) is not None:
            here = posixpath.dirname(name) or "."
            return f"[{found['text']}]({posixpath.relpath(uri, here)}{found['anchor'] or ''})"
        if (ROOT / path).exists() and not uri.endswith(".md"):
            text = found["text"].strip("`")
            return f"`{text}`" if text == path or "/" in text or "." in text else found["text"]
        return found[0]  # MkDocs says that it leads nowhere

    parts = FENCED.split(markdown)
    return "".join(
        part if part.lstrip().startswith("```") else LINK.sub(led, part) for part in parts
    )

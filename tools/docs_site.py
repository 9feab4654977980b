# SPDX-License-Identifier: Apache-2.0
"""What MkDocs asks for while it builds the site: pages from the root, links to sources, doctests.

ARCHITECTURE.md and the like stay where people look for them, and are pages of the site as well. A
link from a page to a file that is no page (a header, an example) becomes the file's name.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from griffe import Extension
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = (
    *("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    "gallery/README.md",
)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]*)\]\((?P<to>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
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
    return files


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

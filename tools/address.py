# SPDX-License-Identifier: Apache-2.0
"""Write the repository's public address into pyproject.toml: `address.py https://HOST/OWNER/NAME`.

A package index then shows links to the source, the issues and the changes, and the whole README,
whose links and picture lead to the files of the repository. Until that address is known the
description is README.md without what leads to other files. The workflow that builds what is
published runs this first; run it once and commit the result when the repository is public.
"""

import re
import sys
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
BRANCH = "main"
HOOK = "[tool.hatch.metadata.hooks.fancy-pypi-readme]\n"


def with_address(text: str, address: str) -> str:
    """Return the text of pyproject.toml with the address in it."""
    address = address.rstrip("/")
    if not re.fullmatch(r"https://[^\s\"']+", address):
        raise SystemExit(f"address: not the https address of a repository: {address}")
    urls = {
        "Source": address,
        "Issues": f"{address}/issues",
        "Changes": f"{address}/blob/{BRANCH}/CHANGELOG.md",
    }
    table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    text = re.sub(r"^\[project\.urls\]\n(?:.+\n)*\n", "", text, flags=re.MULTILINE)
    text = text.replace("[project.scripts]\n", f"[project.urls]\n{table}\n[project.scripts]\n", 1)
    head, hook, rest = text.partition(HOOK)
    following = re.search(r"^\[", rest, re.MULTILINE)
    tail = rest[following.start() :] if following else ""
    return f"{head}{hook}{_description(address)}\n{tail}"


def _description(address: str) -> str:
    """Return the settings of a description whose links have the address."""
    link = r"\[([^\]]*)\]\((?!https?://)([^)]*)\)"
    replaced = {
        r"(?m)^<!-- .* -->\n": "",
        f"!{link}": rf"![\1]({address}/raw/{BRANCH}/\2)",
        f"(?<!!){link}": rf"[\1]({address}/blob/{BRANCH}/\2)",
    }
    rows = "".join(f"  {{pattern = '{a}', replacement = '{b}'}},\n" for a, b in replaced.items())
    return f"""\
content-type = "text/markdown"
fragments = [{{path = "README.md"}}]
substitutions = [
{rows}]
"""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: address.py https://HOST/OWNER/NAME")
    PYPROJECT.write_text(with_address(PYPROJECT.read_text(encoding="utf-8"), sys.argv[1]), "utf-8")

"""What is published, and the workflows that publish it."""

import email
import re
import shutil
import subprocess
import sys
from pathlib import Path

import address
import matrix
import wheels
from needs import ROOT
from pythons import VERSIONS

WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")}
ADDRESS = "https://host.example/owner/pellucid"


def test_with_an_address_every_link_of_the_description_leads_there(tmp_path: Path) -> None:
    for name in ("README.md", "LICENSE", "CMakeLists.txt", "python/pellucid/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    text = address.with_address((ROOT / "pyproject.toml").read_text(), f"{ADDRESS}/")
    assert address.with_address(text, ADDRESS) == text
    (tmp_path / "pyproject.toml").write_text(text)
    code = "import scikit_build_core.build as b; b.prepare_metadata_for_build_wheel('made')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, stdout=subprocess.PIPE)
    (file,) = tmp_path.glob("made/*.dist-info/METADATA")
    metadata = email.message_from_string(file.read_text(encoding="utf-8"))
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL"))
    assert urls["Source"] == ADDRESS and urls["Issues"] == f"{ADDRESS}/issues"
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]*)\)", str(metadata.get_payload()))
    ours = [(mark, url) for mark, url in links if url.startswith(ADDRESS)]
    assert len(ours) > 20 and all(url.startswith("https://") for _, url in links)
    for mark, url in ours:
        kind, _, path = url[len(ADDRESS) + 1 :].partition("/main/")
        assert kind == ("raw" if mark else "blob") and (ROOT / path).is_file()


def test_what_develops_pellucid_is_not_published() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    extras = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    assert re.findall(r"^(\w+) = ", extras, re.MULTILINE) == ["torch", "corpus", "ray"]


def test_workflows_test_what_is_promised() -> None:
    text = WORKFLOWS["ci.yml"]
    assert re.findall(r"^ +- (\d\.\d+\+\S+)$", text, re.MULTILINE) == [*map(str, matrix.PAIRS)]
    assert set(re.findall(r"^    (\d\.\d+)$", text, re.MULTILINE)) == set(VERSIONS)


def test_workflows_call_goals_that_there_are() -> None:
    rules = (ROOT / "Makefile").read_text()
    goals = {goal for text in WORKFLOWS.values() for goal in re.findall(r"\bmake (\w+)", text)}
    assert goals == {"docs", "lint", "matrix", "test", "web", "wheels"}
    assert all(re.search(rf"^{goal}:", rules, re.MULTILINE) for goal in goals)


def test_a_wheel_for_another_architecture_is_named_after_it() -> None:
    made = wheels.target((3, 9), "aarch64")
    assert made["SETUPTOOLS_EXT_SUFFIX"] == ".cpython-39-aarch64-linux-gnu.so"
    assert made["_PYTHON_HOST_PLATFORM"] == "linux-aarch64"

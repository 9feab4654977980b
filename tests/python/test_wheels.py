"""What an installed pellucid is made of: the wheel for 3.12 and later, and the source archive.

`make wheels` builds the wheels that are published, with a compiler of their own. Here the same
extension is linked with the core that is built already, which shows all but the age of the glibc.
"""

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import List, Tuple

import pytest
import wheels
from needs import ROOT, missing
from pellucid.interpreters import find_interpreter

_CORE = ROOT / "build" / "make"

# The face of the package that needs none of its dependencies.
_USE = """
import pellucid, sys
def greet(name, *, mark="!"):
    return [f"hello {name}{mark}" for _ in range(3) if name]
found = pellucid.decompile_ex(greet)
print(pellucid._core.__file__)
print(found.version == sys.version_info[:2], found.verdict.status)
print(found.source, end="")
"""


def _run(command: List[str]) -> str:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, check=False
    )
    output = done.stdout.decode(errors="replace")
    assert done.returncode == 0, output[-6000:]
    return output


def _builder() -> Tuple[int, Path]:
    """A Python from 3.12 on that has what building an extension needs, after its minor version."""
    if sys.version_info >= (3, 12):
        return sys.version_info[1], Path(sys.executable)
    for minor in range(12, 16):
        python = ROOT / "build" / "hosts" / f"3.{minor}" / "bin" / "python"
        if python.exists():
            return minor, python
    missing("pellucid installed for Python 3.12 or later")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with the stable ABI."""
    if not (_CORE / "libpellucid_library.a").exists():
        missing("the core in build/make")
    _, python = _builder()
    out = tmp_path_factory.mktemp("wheel")
    # What was compiled for the environments of other Pythons serves here too (tools/hosts.py).
    compiled = ROOT / "build" / "hosts" / "stable"
    settings = [
        f"-Cbuild-dir={compiled if compiled.exists() else out / 'build'}",
        f"-Ccmake.define.PELLUCID_PREBUILT={_CORE}",
        "-Cwheel.py-api=cp312",
    ]
    pip = [str(python), "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps"]
    _run([*pip, ".", "-w", str(out), *settings])
    (made,) = out.glob("*.whl")
    return made


def test_the_stable_wheel_says_what_it_runs_on(wheel: Path) -> None:
    assert wheel.name.split("-")[2:4] == ["cp312", "abi3"]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
        (points,) = (name for name in names if name.endswith(".dist-info/entry_points.txt"))
        assert "pellucid.__main__:main" in archive.read(points).decode()
    # A distribution's own Python may write its platform after it.
    assert any(name.startswith("pellucid/_core.abi3") for name in names)
    assert "pellucid/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
    assert {"Requires-Python: >=3.8", "Requires-Dist: rich>=12"} <= set(text.splitlines())
    shared = {name.partition(".data/data/share/")[2] for name in names if ".data/" in name}
    assert shared == {
        "man/man1/pellucid.1",
        "bash-completion/completions/pellucid",
        "zsh/site-functions/_pellucid",
        "fish/vendor_completions.d/pellucid.fish",
    }
    outside = {
        name.split("/")[0] for name in names if "dist-info" not in name and ".data/" not in name
    }
    started = {"pellucid.pth", "pellucid.start", "_pellucid_start.py"}
    assert outside == {"pellucid", *started}, "nothing else is installed"


def test_the_stable_wheel_works_on_every_later_python(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    built_by, _ = _builder()
    used = []
    for minor in range(built_by, 16):
        python = find_interpreter((3, minor))
        if python is None:
            continue
        # What is installed, for this user or in an environment, is not what is asked about.
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{_USE}"
        script = tmp_path / "use.py"
        script.write_text(code)
        where, proof, *source = _run([str(python), "-E", "-s", "-S", str(script)]).splitlines()
        assert where.startswith(str(tmp_path / "pellucid" / "_core.abi3"))
        assert proof in ("True identical", "True equivalent"), f"3.{minor}"
        assert source[0].startswith("def greet(name, *, mark='!')"), f"3.{minor}"
        used.append(minor)
    if len(used) < 2:
        missing(f"a Python later than 3.{built_by}")


def test_the_wheel_that_replaces_depyf_has_one_file_and_needs_pellucid(tmp_path: Path) -> None:
    wheels.build_drop_in(tmp_path, tmp_path / "log.txt")
    (made,) = tmp_path.glob("*.whl")
    assert made.name == "depyf-0.20.0+pellucid-py3-none-any.whl"
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        assert "Requires-Dist: pellucid\n" in archive.read(metadata).decode()
    assert [name for name in names if ".dist-info/" not in name] == ["depyf/__init__.py"]


def test_the_source_archive_has_what_a_build_reads(tmp_path: Path) -> None:
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "src",
            "cmake",
            "python",
            "CMakeLists.txt",
            "pyproject.toml",
            "LICENSE",
        ],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        check=False,
    )
    wanted = set(listed.stdout.decode().split())
    if not wanted:
        missing("git, which knows the files of the project")
    build = f"import scikit_build_core.build as b; b.build_sdist({str(tmp_path)!r})"
    _run([sys.executable, "-c", build])
    (made,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(made) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert not wanted - names
    assert "README.md" in names, "the description of the project"
    # What needs files that are not there would be of no use.
    assert not {name.partition("/")[0] for name in names} & {"tests", "tools", "Makefile"}


def test_the_description_on_a_package_index_has_no_link_into_the_repository(tmp_path: Path) -> None:
    code = (
        "import sys, scikit_build_core.build as b; b.prepare_metadata_for_build_wheel(sys.argv[1])"
    )
    _run([sys.executable, "-c", code, str(tmp_path)])
    (file,) = tmp_path.glob("*.dist-info/METADATA")
    metadata = email.message_from_string(file.read_text(encoding="utf-8"))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert isinstance(text, str) and text.startswith("# pellucid\n") and "```python" in text
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.findall(r"\]\((?!https://)[^)]*\)", prose) == []
    assert "<!--" not in prose

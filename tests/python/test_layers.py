"""The rules that keep the layers apart, and the checker that holds them."""

import ast
import importlib
import importlib.util
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from subprocess import PIPE, STDOUT

import check_headers
import check_layers
import pytest
from needs import ROOT
from pellucid.torch.guards import checks


def test_no_include_or_import_crosses_the_layers() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_layers.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()


def write_files(folder: Path, files: "dict[str, str]") -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("header", "own", "hides"),
    [
        ("ir/a.h", "constexpr int kMost = 2;", True),
        ("ir/a.h", "const std::array<int, kMany>\n    kMost = {};", True),
        ("ir/a.h", "struct Use {};", True),
        ("ir/a.h", "using Use = int;", True),
        ("flow/a.h", "constexpr int kMost = 2;", True),
        ("structure/graph/a.h", "constexpr int kMost = 2;", False),  # ir knows nothing of it
        ("ir/a.h", "constexpr int kMany = kMost;", False),
        ("ir/a.h", "using other::Use;", False),
        ("ir/a.h", "int kind(Use use);", False),
        ("ir/a.h", "}  // namespace\nstruct Use::Part {};\nnamespace {", False),
    ],
)
def test_no_name_of_one_file_hides_that_of_a_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, own: str, hides: bool
) -> None:
    declared = "namespace pellucid {\ninline constexpr int kMost = 1;\nstruct Use {};\n}\n"
    inside = f"namespace pellucid::ir {{\nnamespace {{\n\n{own}\n\n}}  // namespace\n}}\n"
    write_files(tmp_path, {f"src/{header}": declared, "src/ir/b.cpp": inside})
    monkeypatch.setattr(check_layers, "ROOT", tmp_path)
    found = list(check_layers.check_hidden_names())
    assert [line.partition(": ")[0] for line in found] == ["src/ir/b.cpp"] * hides


@pytest.mark.parametrize(
    ("file", "text", "refused"),
    [
        ("dump/model/a", "import torch", "only pellucid.torch.taps"),
        ("dump/model/a", "def f():\n    from torch import fx", "only pellucid.torch.taps"),
        ("dump/model/a", "importlib.import_module('torch')", "only pellucid.torch.taps"),
        ("dump/model/a", "__import__('torch.fx')", "only pellucid.torch.taps"),
        ("dump/model/a", "importlib.import_module(name)", "write import_module("),
        (
            "dump/model/a",
            "from importlib import import_module as i\ni('torch')",
            "write import_module(",
        ),
        ("dump/model/a", "from pellucid import decompilation", "must not know pellucid"),
        ("dump/store/a", "from pellucid.torch import adapter", "must not know pellucid.torch"),
        ("dump/store/a", "from ...torch.taps import now", "must not know pellucid.torch.taps"),
        ("dump/model/a", "from ..store import load", "must not know pellucid.dump.store"),
        ("dump/model/a", "import_module('pellucid.findings')", "must not know pellucid.findings"),
        ("findings/a", "from pellucid.torch.logs import reader", "must not know pellucid.torch"),
        ("dump/store/a", "from pellucid.brief import counted\nfrom ..model import keys", ""),
        ("findings/a", "from pellucid.dump.store import load", ""),
        ("containers", "importlib.import_module('lz4.frame')", ""),
        ("torch/taps/a", "def f():\n    import torch._dynamo", ""),
    ],
)
def test_no_import_in_a_function_or_by_name_crosses_the_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, refused: str
) -> None:
    write_files(tmp_path, {f"python/pellucid/{file}.py": text})
    monkeypatch.setattr(check_layers, "ROOT", tmp_path)
    found = list(check_layers.check_python())
    assert bool(found) == bool(refused) and refused in "".join(found), found


def test_a_circle_of_imports_is_found_in_functions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a": "from pellucid import b", "b": "from .part import c", "part/__init__": ""}
    files["part/c"] = "def f():\n    import_module('pellucid.a')"
    write_files(tmp_path, {f"python/pellucid/{name}.py": text for name, text in files.items()})
    monkeypatch.setattr(check_layers, "ROOT", tmp_path)
    circle = "pellucid.a imports pellucid.b imports pellucid.part.c imports pellucid.a"
    assert list(check_layers.check_circles()) == [f"python: {circle}"]
    only_typed = "if TYPE_CHECKING:\n    from pellucid.a import A"
    write_files(tmp_path, {"python/pellucid/part/c.py": only_typed})
    assert list(check_layers.check_circles()) == []


def test_a_header_that_lacks_an_include_is_found(tmp_path: Path) -> None:
    whole = '#pragma once\n#include <string>\n#include "a/b.h"\n'
    files = {"a/a.h": f"{whole}std::string name(B b);\n", "a/b.h": "#pragma once\nstruct B {};\n"}
    write_files(tmp_path, {**files, "a/c.h": '#include "a/a.h"\nstd::vector<B> all();\n'})
    texts = check_headers.texts_of([tmp_path])
    assert check_headers.parts_of("a/b.h", texts) == {"a/b.h"}
    assert check_headers.parts_of("a/c.h", texts) == set(texts) == {"a/a.h", "a/b.h", "a/c.h"}
    command = ["c++", "-std=c++20", f"-I{tmp_path}"]
    hub = check_headers.precompile(command, "a/a.h", str(tmp_path))
    assert Path(f"{hub}.gch").exists()
    key = check_headers.key_of(command, "a/c.h", texts)
    texts["a/b.h"] += "// another line\n"
    assert check_headers.key_of(command, "a/c.h", texts) != key
    assert check_headers.compile_alone(command, "a/a.h") == ""
    problem = check_headers.compile_alone(command, "a/c.h", "-include", hub)
    assert problem.startswith("a/c.h does not compile alone: ")
    assert "vector" in problem and f"(line 2 of {tmp_path}/a/c.h)" in problem


def test_importing_pellucid_imports_no_torch() -> None:
    probe = "import pellucid, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_the_version_and_the_help_load_nothing_that_a_command_needs() -> None:
    heavy = ["concurrent.futures", "json", "logging", "torch", "zipfile"]
    heavy += ["pellucid._core", "pellucid.batch"]
    probe = textwrap.dedent("""
        import sys
        before = set(sys.modules)
        from pellucid.__main__ import main
        try:
            main(sys.argv[1:2])
        except SystemExit:
            pass
        print([name for name in sys.argv[2:] if name in set(sys.modules) - before])
    """)
    for option in ("--version", "--help"):
        command = [sys.executable, "-c", probe, option, *heavy]
        done = subprocess.run(command, stdout=PIPE, encoding="utf-8", check=True)
        assert done.stdout.splitlines()[-1] == "[]"


def test_everything_but_what_talks_to_torch_can_be_imported_without_it() -> None:
    probe = textwrap.dedent("""
        import importlib, pkgutil, sys
        class NoTorch:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "torch":
                    raise ImportError("there is no torch here")
        sys.meta_path.insert(0, NoTorch())
        import pellucid
        allowed = set(sys.argv[1:])
        for module in pkgutil.walk_packages(pellucid.__path__, "pellucid."):
            if module.name != "pellucid.__main__" and module.name not in allowed:
                importlib.import_module(module.name)
        from pellucid import *
        from pellucid.torch import *
        assert callable(prepare_debug) and callable(find_nan)
    """)
    others = [] if importlib.util.find_spec("IPython") else ["pellucid.notebook.magic"]
    command = [sys.executable, "-c", probe, *check_layers.IMPORTS_TORCH, *others]
    done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()


def test_a_dump_is_read_without_torch(tmp_path: Path) -> None:
    probe = textwrap.dedent("""
        import sys
        sys.modules["torch"] = None  # importing it fails
        import pellucid
        from pellucid.__main__ import main
        dump, page = sys.argv[1:]
        capture = pellucid.load(dump)
        assert pellucid.find(capture) and capture._repr_html_()
        assert str(pellucid.compare(dump, dump)) == ""
        assert pellucid.report(dump, out=page).exists()
        assert [main([name, dump]) for name in ("explain", "report")] == [0, 0]
        assert main(["diff", dump, dump]) == 0
    """)
    dump = tmp_path / "dump"
    shutil.copytree(str(ROOT / "tests" / "torch" / "schema_1"), str(dump))
    command = [sys.executable, "-c", probe, str(dump), str(tmp_path / "page.html")]
    done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()


def test_what_dumped_files_import_stays() -> None:
    import pellucid.dumped as now

    written = {name for name in vars(checks) if name.isupper() and name[0] != "_"}
    assert written <= set(now.__all__)
    for former in ("guard_checks", "siblings"):
        module = importlib.import_module(f"pellucid.torch.{former}")
        assert set(now.__all__) <= set(vars(module))


def test_a_path_that_was_documented_stays() -> None:
    from pellucid.dump.model import provenance
    from pellucid.torch.model.provenance import resolve

    assert resolve is provenance.resolve


def test_what_3_8_cannot_subscript_is_subscripted_in_annotations_alone() -> None:
    """`list[str]()` and an alias of `dict[str, int]` run; 3.8 has neither."""
    builtin = {"dict", "frozenset", "list", "set", "tuple", "type"}
    found = []
    for path in sorted((ROOT / "python" / "pellucid").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        told = [getattr(node, name, None) for node in nodes for name in ("annotation", "returns")]
        never_run = {
            id(part) for kind in told if isinstance(kind, ast.AST) for part in ast.walk(kind)
        }
        run = [n for n in nodes if isinstance(n, ast.Subscript) and id(n) not in never_run]
        for value in (node.value for node in run):
            if isinstance(value, ast.Name) and value.id in builtin:
                found.append(f"{path.name}:{value.lineno}")
    assert found == []

# SPDX-License-Identifier: Apache-2.0
"""The npm package: what it does in Node, that it says what the native binary says, and that it
installs and type-checks. `make web` builds it."""

import base64
import json
import marshal
import os
import py_compile
import random
import shutil
import subprocess
from pathlib import Path
from types import CodeType

import pytest
import same_web
from archives import program, pyz, zipped
from case_pycs import unpack
from commands import run
from needs import ROOT, VERSIONS, missing, need

_PACKAGE = ROOT / "build" / "web" / "npm"
_HERE = Path(__file__).parent

_MODULE = '''\
"""What the tests look at."""


def halve(count):
    while count and count % 2 == 0:
        try:
            count //= 2
        except TypeError:
            return None
    return count or 1


class Box:
    @property
    def first(self):
        if self.items:
            return self.items[0]
        return None


pick = lambda items: items[-1]
'''
_PROGRAM = """\
import { load, PellucidError, type Decompilation, type Graph } from "pellucid";
declare const process: { argv: string[] };
const pellucid = await load();
const bytes = Uint8Array.from(atob(process.argv[2] ?? ""), (each) => each.charCodeAt(0));
const made: Decompilation = await pellucid.decompile(bytes, { file: "a.pyc" });
const graph: Graph = await pellucid.graph(bytes);
console.log(JSON.stringify([made.text, made.verdict, graph.blocks.length > 0]));
await pellucid.decompile(new Uint8Array(3)).catch((error: unknown) => {
  if (!(error instanceof PellucidError)) throw error;
  console.log(JSON.stringify(error.code));
});
"""


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing(f"{name} on PATH (Debian's package: {'npm' if name == 'npm' else 'nodejs'})")
    return found


@pytest.fixture(scope="session")
def package() -> Path:
    """The package as it is built."""
    _program("node")
    if not (_PACKAGE / "pellucid.wasm").exists():
        missing("the npm package in build/web (make web)")
    return _PACKAGE


@pytest.fixture(scope="session")
def installed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the package, packed and installed."""
    npm, folder = _program("npm"), tmp_path_factory.mktemp("user")
    packed = run(npm, "pack", "--json", "--pack-destination", folder, package)
    assert packed.returncode == 0, packed.stderr
    archive = folder / json.loads(packed.stdout)[0]["filename"]
    (folder / "package.json").write_text('{"type": "module", "private": true}')
    done = run(npm, "install", "--offline", "--no-audit", "--no-fund", "--prefix", folder, archive)
    assert done.returncode == 0, done.stderr
    return folder


def _compiled(folder: Path, name: str, source: str) -> bytes:
    (folder / f"{name}.py").write_text(source)
    made = py_compile.compile(str(folder / f"{name}.py"), str(folder / f"{name}.pyc"), doraise=True)
    return Path(made).read_bytes()


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that pellucid.test.mjs reads."""
    folder = tmp_path_factory.mktemp("samples")
    code = _compiled(folder, "module", _MODULE)
    _compiled(folder, "spaced", "\n" * 8 + "x = 1\n")
    (folder / "junk.pyc").write_bytes(code + b"left over")
    wheel = {"pkg/__init__.pyc": code, "pkg/mod.pyc": code, "top.pyc": code, "notes.txt": b"none"}
    (folder / "app.whl").write_bytes(zipped(wheel))
    entries = [
        ("main", b"s", code[16:], True),
        ("PYZ-00.pyz", b"z", pyz(code[16:]), False),
        ("base_library.zip", b"b", zipped({"abc.pyc": code}), True),
    ]
    (folder / "app").write_bytes(program(entries))
    # A name that no source can write: nothing is proven of the function.
    odd = compile("x = 1\ndef f():\n    return name\n", "odd.py", "exec")
    inner = next(each for each in odd.co_consts if isinstance(each, CodeType))
    renamed = inner.replace(co_names=("no name",))
    constants = tuple(renamed if each is inner else each for each in odd.co_consts)
    marshalled = marshal.dumps(odd.replace(co_consts=constants))
    (folder / "unproven.pyc").write_bytes(code[:16] + marshalled)
    _compiled(folder, "deep", "y = x" + " + x" * 900 + "\nz = " + "-x(" * 150 + ")" * 150 + "\n")
    return folder


def test_what_it_does_in_node(package: Path, samples: Path) -> None:
    done = subprocess.run(
        [_program("node"), "--test", str(_HERE / "pellucid.test.mjs")],
        env={**os.environ, "PELLUCID_PACKAGE": str(package), "PELLUCID_SAMPLES": str(samples)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_it_says_what_the_native_binary_says(package: Path, tmp_path: Path, version: str) -> None:
    need("native")
    python = need(f"python{version}")
    files = same_web.compile_sample(Path(python), 4, tmp_path)
    # Of the cases, some at random, hostile ones among them.
    found = unpack(version, tmp_path / "cases")
    files += random.Random(0).sample(found, 12)
    files += sorted((ROOT / "tests" / "regress").rglob(f"*{version}*.pyc"))[:4]
    assert len(files) >= 16
    assert same_web.compare(files, package).different == []


@pytest.mark.parametrize("version", VERSIONS)
def test_it_lists_what_dis_lists(package: Path, tmp_path: Path, version: str) -> None:
    python = need(f"python{version}")
    made = tmp_path / "module.pyc"
    (tmp_path / "module.py").write_text(_MODULE)
    program = (
        "import dis, json, marshal, py_compile, sys\n"
        "py_compile.compile('module.py', 'module.pyc', doraise=True)\n"
        "code = marshal.loads(open('module.pyc', 'rb').read()[16:])\n"
        "rows, todo = [], [code]\n"
        "for each in todo:\n"
        "    todo += [c for c in each.co_consts if hasattr(c, 'co_code')]\n"
        "    rows.append([each.co_name, [[i.offset, i.opname, i.arg] for i in\n"
        "        dis.get_instructions(each) if i.opname not in ('EXTENDED_ARG', 'CACHE')]])\n"
        "print(json.dumps(rows))\n"
    )
    asked = subprocess.run(
        [str(python), "-c", program], cwd=tmp_path, stdout=subprocess.PIPE, check=True
    )
    expected = sorted(json.loads(asked.stdout))
    script = (
        "import { readFileSync } from 'node:fs';"
        f"const {{ load }} = await import({json.dumps((package / 'pellucid.mjs').as_uri())});"
        "const { codes } = await (await load()).dis(readFileSync(process.argv[1]));"
        "console.log(JSON.stringify(codes.map(({ path, instructions }) => [path.split('/').pop(),"
        "  instructions.map(({ offset, opname, arg }) => [offset, opname, arg])])));"
    )
    said = run(_program("node"), "--input-type=module", "--eval", script, made)
    assert said.returncode == 0, said.stderr
    assert sorted(json.loads(said.stdout)) == expected


def test_the_package_holds_what_it_needs_and_no_more(installed: Path) -> None:
    folder = installed / "node_modules" / "pellucid"
    assert {path.name for path in folder.iterdir()} == {
        "LICENSE",
        "README.md",
        "core.mjs",
        "package.json",
        "pellucid.d.ts",
        "pellucid.mjs",
        "pellucid.wasm",
    }
    # What a page loads: the larger part once, then from its cache.
    # (What CI builds has not been through wasm-opt.)
    most = 4_200_000 if os.environ.get("CI") else 3_400_000
    assert (folder / "pellucid.wasm").stat().st_size < most


def test_a_bundle_for_browsers_needs_nothing_of_node(installed: Path) -> None:
    esbuild = ROOT / "web" / "page" / "node_modules" / ".bin" / "esbuild"
    if not esbuild.exists():
        missing("esbuild in web/page/node_modules (make web)")
    (installed / "entry.js").write_text('export { load } from "pellucid";')
    bundle = installed / "bundle.mjs"
    options = ["--bundle", "--platform=browser", "--format=esm", f"--outfile={bundle}"]
    made = run(esbuild, *options, installed / "entry.js")
    assert made.returncode == 0, made.stderr
    script = (
        "import { readFileSync } from 'node:fs';"
        f"const {{ load }} = await import({json.dumps(bundle.as_uri())});"
        "const wasm = readFileSync(process.argv[1]);"
        "console.log((await load({ wasm })).versions.length);"
    )
    module = installed / "node_modules" / "pellucid" / "pellucid.wasm"
    said = run(_program("node"), "--input-type=module", "--eval", script, module)
    assert said.stdout.strip() == str(len(VERSIONS)), said.stderr


def test_ten_lines_of_typescript_check_and_run(installed: Path, tmp_path: Path) -> None:
    npm = _program("npm")
    # An exact version, so that what it checks is the same every day.
    wanted = "typescript@5.9.3"
    options = ["--no-audit", "--no-fund", "--no-save", "--prefix", str(installed)]
    done = run(npm, "install", *options, wanted)
    if done.returncode != 0:
        missing(f"TypeScript from npm ({done.stderr.strip().splitlines()[-1:]})")
    (installed / "user.mts").write_text(_PROGRAM)
    compiler = installed / "node_modules" / "typescript" / "bin" / "tsc"
    options = ["--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "nodenext"]
    checked = run(_program("node"), compiler, *options, installed / "user.mts")
    assert checked.returncode == 0, checked.stdout
    code = base64.b64encode(_compiled(tmp_path, "a", "x = 1\n")).decode()
    said = run(_program("node"), installed / "user.mjs", code)
    assert said.stdout.splitlines() == ['["x = 1\\n","equivalent",true]', '"truncated"'], (
        said.stderr
    )

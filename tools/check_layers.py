# SPDX-License-Identifier: Apache-2.0
"""Hold the C++ includes and the Python imports to the layers of ARCHITECTURE.md.

Run it as `python tools/check_layers.py`; it prints one line a violation and exits with their
number (0 is good). It also checks that CMakeLists.txt draws the same arrows as CPP_LAYERS, and what
goes with compiling a layer as one file.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

ROOT = Path(__file__).resolve().parent.parent

# The one table: what a layer may use directly. What those may use comes with them, except where
# FORBIDDEN says otherwise.
CPP_LAYERS: Dict[str, List[str]] = {
    "base": [],
    "object": ["base"],
    "pickle": ["object"],
    "bytecode": ["object"],
    "flow": ["bytecode"],
    "ir": ["flow"],
    "ast": ["base", "object"],
    "structure/graph": ["ir"],
    "structure/scopes": ["structure/graph", "ast"],
    "structure/expressions": ["structure/scopes"],
    "structure/statements": ["structure/expressions"],
    "structure/reduce": ["structure/graph"],
    "structure/constructs": ["structure/reduce"],
    "structure/plan": ["structure/graph"],
    "structure/emit": ["structure/plan", "structure/statements"],
    "structure": ["structure/constructs", "structure/emit"],
    "fallback": ["structure/statements"],
    "polish": ["ast"],
    "print": ["ast"],
    "verify/domain": ["flow"],
    "verify/assumptions": ["verify/domain"],
    "verify/machine": ["verify/assumptions"],
    "verify/walk": ["verify/machine"],
    "verify/headers": ["verify/domain"],
    "verify/lower": ["flow", "ast"],
    "verify": ["verify/walk", "verify/headers", "verify/lower"],
    "driver": ["structure", "fallback", "polish", "print", "verify"],
    "library": ["driver"],
    "archive": ["library", "pickle"],
}

# What stands on top uses the library, and of the layers only those that are named. The extension
# makes an object::Module of live code.
CPP_TOPS: Dict[str, List[str]] = {
    "cli": ["archive"],
    # Live code objects, the syntax trees of Python's own parser, and the values of pickles.
    "python": ["ast", "object", "pickle", "archive"],
    # The verdict's words of the native binary.
    "web": ["archive", "cli"],
}

# The headers of include/, and who may include each beside the tops and the library itself.
PUBLIC_HEADERS: Dict[str, List[str]] = {
    "pellucid/result.h": ["base", "archive"],
    "pellucid/pellucid.h": ["archive"],
    "pellucid/generated.h": [],
    "pellucid/views.h": [],
}
NOT_FOR: Dict[str, List[str]] = {
    "pellucid/generated.h": ["cli", "web"],
    "pellucid/views.h": ["cli"],
}

# ast knows the constants of object, not how a .pyc is read.
FORBIDDEN_HEADERS: Dict[str, List[str]] = {
    "ast": ["object/pyc.h"],
    "structure": ["object/pyc.h"],
    "fallback": ["object/pyc.h"],
    "polish": ["object/pyc.h"],
    "print": ["object/pyc.h"],
}

# Python: the modules (by prefix) that may import torch, and what everything else may import.
TORCH_ONLY_IN = (
    "pellucid.torch.taps",
    "pellucid.torch.api",
    "pellucid.torch.trying",
    "pellucid.optimization",
)
TORCH_INTERNALS_ONLY_IN = ("pellucid.torch.taps",)
TORCH_INTERNALS = ("torch._", "torch.fx._", "torch.utils._")
# The decompiler's face, and what asks whether bytes are code, a table or a pickle.
USES_EXTENSION = (
    "pellucid.decompilation",
    "pellucid.live",
    "pellucid.result",
    "pellucid.recompile",
    "pellucid.containers",
    "pellucid.following",
    "pellucid.pickle_tree",
    "pellucid.matching",
    "pellucid.porting",
    "pellucid.commands",
    "pellucid.__main__",
)
# What a capture is and what reads one: of pellucid it imports nothing else, so that none of it can
# bring torch.
TORCH_FREE = (
    "pellucid._version",
    "pellucid.brief",
    "pellucid.errors",
    "pellucid.shown",
    "pellucid.terminal",
    "pellucid.dump",
    "pellucid.findings",
    "pellucid.report",
    "pellucid.comparison",
)
# Modules that import what is named elsewhere: in a table, a folder, or a remedy.
IMPORTS_BY_NAME = (
    "pellucid",
    "pellucid.findings.kinds",
    "pellucid.torch",
    "pellucid.torch.taps.compat",
    "pellucid.torch.trying.applied",
    "pellucid.torch.trying.server",
)
THIRD_PARTY = {"rich", "jinja2", "pygments", "torch", "pyarrow", "fsspec", "pebble", "ray"}
# What only IPython loads, and what only pytest does.
LOADED_BY = {"IPython": "pellucid.notebook.magic", "pytest": "pellucid.testing.plugin"}
# What is used if it is installed, and a module of newer Pythons.
OPTIONAL = {"compression", "dill", "lz4", "numpy", "safetensors"}

# What a capture is, what reads it and what makes it, and what each may import of the others.
_VALUES = ["pellucid.dump.model"]
_READ = [*_VALUES, "pellucid.dump.store"]
_WRITTEN = [*_READ, "pellucid.torch.taps", "pellucid.torch.dynamo", "pellucid.torch.guards"]
PYTHON_LAYERS: Dict[str, List[str]] = {
    "pellucid.dump.model": [],
    "pellucid.torch.taps": [*_VALUES],
    "pellucid.torch.dynamo": [*_VALUES],
    "pellucid.dump.store": [*_VALUES],
    "pellucid.torch.guards": [*_VALUES, "pellucid.torch.taps"],
    "pellucid.findings": [*_READ],
    "pellucid.report": [*_READ, "pellucid.findings"],
    "pellucid.comparison": [*_READ, "pellucid.findings", "pellucid.report"],
    "pellucid.notebook": [*_READ, "pellucid.findings", "pellucid.report"],
    "pellucid.torch.text": [*_WRITTEN, "pellucid.findings"],
    "pellucid.torch.capture": [*_WRITTEN, "pellucid.findings", "pellucid.torch.text"],
    "pellucid.torch.logs": [
        *_WRITTEN,
        "pellucid.findings",
        "pellucid.report",
        "pellucid.torch.text",
        "pellucid.torch.capture",
    ],
    "pellucid.torch.artifacts": [
        *_WRITTEN,
        "pellucid.findings",
        "pellucid.report",
        "pellucid.torch.text",
        "pellucid.torch.capture",
        "pellucid.torch.logs",
    ],
    "pellucid.torch.api": [
        *_WRITTEN,
        "pellucid.findings",
        "pellucid.report",
        "pellucid.torch.text",
        "pellucid.torch.capture",
    ],
    "pellucid.testing": [
        *_READ,
        "pellucid.findings",
        "pellucid.report",
        "pellucid.torch.api",
    ],
    "pellucid.torch.trying": [
        *_READ,
        "pellucid.torch.taps",
        "pellucid.findings",
        "pellucid.torch.api",
    ],
}
# What talks to torch; everything else can be imported where there is none.
_API = "pellucid.torch.api"
IMPORTS_TORCH = (
    f"{_API}.watch",
    f"{_API}.demo_model",
    f"{_API}.as_it_runs",
    f"{_API}.closeness",
    f"{_API}.cures",
    f"{_API}.cuts",
    f"{_API}.effects",
    f"{_API}.isolate",
    f"{_API}.parting",
    f"{_API}.generators",
    f"{_API}.kept",
    f"{_API}.program_state",
    f"{_API}.reach",
    f"{_API}.recording",
    f"{_API}.search",
    f"{_API}.smallest",
    f"{_API}.stages",
    f"{_API}.stale",
    "pellucid.torch.trying.compiled",
    "pellucid.torch.trying.results",
)

# How many folders a layer may have that is one of folders, and how many files each may have: who
# looks for something reads these lists.
MOST_FOLDERS = {"structure": 8}
MOST_FILES = 20

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

# What a namespace declares: namespaces end with a comment, and what is in them is not indented.
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?|using(?= \w+ =)) (\w+)", re.MULTILINE)
CONSTANT = re.compile(
    r"^(?:inline |static |constexpr |const )+[^=;{(]*\b(k[A-Z]\w*)(?:\[\w*\])*\s*[=;{(]",
    re.MULTILINE,
)


def allowed_layers(layer: str) -> Set[str]:
    """Return the layers that a file of `layer` may include, its own among them."""
    if layer in CPP_TOPS:
        return {layer, *CPP_TOPS[layer]}
    reached: Set[str] = set()
    todo = [layer]
    while todo:
        current = todo.pop()
        if current not in reached:
            reached.add(current)
            todo.extend(CPP_LAYERS[current])
    return reached


def cpp_layer_of(path: str) -> str:
    """Return the layer of a file of src/, which may be a folder of another one."""
    folder = path.rsplit("/", 1)[0]
    while folder not in CPP_LAYERS and folder not in CPP_TOPS and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return folder


def check_includes() -> Iterator[str]:
    """Yield a line for each include that crosses the table."""
    for layer in [*CPP_LAYERS, *CPP_TOPS]:
        allowed = allowed_layers(layer)
        for path in sorted((ROOT / "src" / layer).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".def", ".inc"}:
                continue
            if cpp_layer_of(path.relative_to(ROOT / "src").as_posix()) != layer:
                continue
            for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
                top = cpp_layer_of(included)
                where = path.relative_to(ROOT)
                if included.startswith("pellucid/"):
                    may = [*CPP_TOPS, "library", *PUBLIC_HEADERS.get(included, [])]
                    if layer not in may or layer in NOT_FOR.get(included, []):
                        yield f"{where}: {layer} must not include {included}"
                elif top not in CPP_LAYERS and top not in CPP_TOPS:
                    yield f'{where}: write #include "layer/file.h", not "{included}"'
                elif top not in allowed:
                    yield f"{where}: {layer} must not know {top} ({included})"
                elif included in FORBIDDEN_HEADERS.get(layer.split("/")[0], []):
                    yield f"{where}: {layer} must not know {included}"


def declared(text: str) -> Set[str]:
    """Return the types and constants that the namespaces of a text declare."""
    return {*TYPE.findall(text), *CONSTANT.findall(text)}


def check_hidden_names() -> Iterator[str]:
    """Yield a line for each name of one .cpp that hides another one in the whole layer.

    A layer is compiled as one file, in which all unnamed namespaces are one: another .cpp would
    find the constant or type of this one in place of that of the header.
    """
    in_headers: Dict[str, Dict[str, List[Tuple[str, Set[str]]]]] = {}
    for path in sorted((ROOT / "src").rglob("*.h")):
        name = path.relative_to(ROOT / "src").as_posix()
        text = path.read_text(encoding="utf-8")
        for space in set(NAMESPACE.findall(text)):
            found = in_headers.setdefault(cpp_layer_of(name), {}).setdefault(space, [])
            found.append((name, declared(text)))
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        own = declared("".join(UNNAMED.findall(text)))
        layer = cpp_layer_of(path.relative_to(ROOT / "src").as_posix())
        for space in set(NAMESPACE.findall(text)):
            parts = space.split("::")
            seen = ["::".join(parts[: end + 1]) for end in range(len(parts))]
            for known in allowed_layers(layer):
                for outer in seen:
                    for header, names in in_headers.get(known, {}).get(outer, []):
                        for name in sorted(own & names):
                            yield f"{path.relative_to(ROOT)}: {name} hides that of {header}"


def check_folders() -> Iterator[str]:
    """Yield a line for each folder of src/ that is in no table or too large."""
    for folder in sorted((ROOT / "src").iterdir()):
        if folder.is_dir() and folder.name not in CPP_LAYERS and folder.name not in CPP_TOPS:
            yield f"src/{folder.name}: no layer of the table"
    for layer, most in MOST_FOLDERS.items():
        sizes = Counter(p.parent.name for p in (ROOT / "src" / layer).glob("*/*") if p.is_file())
        if len(sizes) > most:
            yield f"src/{layer}: {len(sizes)} folders, more than {most}"
        for name, files in sorted(sizes.items()):
            if files > MOST_FILES:
                yield f"src/{layer}/{name}: {files} files, more than {MOST_FILES}"


def check_link_lines() -> Iterator[str]:
    """Yield a line for each layer whose CMake link line differs from the table."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    arrows = re.findall(r"pellucid_layer\(([\w/]+)([^)]*)\)", text)
    drawn = {name: known.split() for name, known in arrows}
    for layer, known in CPP_LAYERS.items():
        if drawn.get(layer) != known:
            yield f"CMakeLists.txt: {layer} links {drawn.get(layer)}, the table says {known}"


def module_name(path: Path) -> str:
    """Return the dotted name of a file under python/."""
    parts = list(path.relative_to(ROOT / "python").with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree: ast.AST, module: str, is_package: bool) -> Iterator["tuple[int, str]"]:
    """Yield (line, dotted name) of every import in a module, relative ones resolved.

    The name is empty where only the running program knows it.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")
            if node.level:
                base = base[: len(base) - node.level + is_package]
            prefix = ".".join(base) if node.level else ""
            full = ".".join(part for part in (prefix, node.module or "") if part)
            yield node.lineno, full
            for alias in node.names:
                yield node.lineno, f"{full}.{alias.name}"
            if full == "importlib" and any(alias.asname for alias in node.names):
                yield node.lineno, ""
        elif isinstance(node, ast.Call) and called(node.func) in ("import_module", "__import__"):
            name = node.args[0] if node.args else None
            written = isinstance(name, ast.Constant) and str(name.value)
            yield node.lineno, "" if not written or written.startswith(".") else written


def called(function: ast.expr) -> str:
    """Return the last name of what a call calls."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def under(name: str, prefixes: "tuple[str, ...]") -> bool:
    """Say whether a dotted name is one of `prefixes` or lies below one."""
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def layer_of(name: str) -> str:
    """Return the folder of PYTHON_LAYERS that a module is in; empty for none."""
    return next((folder for folder in PYTHON_LAYERS if under(name, (folder,))), "")


def check_python() -> Iterator[str]:
    """Yield a line for each Python import that crosses the rules above."""
    standard = set(getattr(sys, "stdlib_module_names", ())) or None
    for path in sorted((ROOT / "python" / "pellucid").rglob("*.py")):
        module = module_name(path)
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for line, name in imports_of(tree, module, path.name == "__init__.py"):
            where = f"{path.relative_to(ROOT)}:{line}"
            top = name.split(".")[0]
            if not name:
                if module not in IMPORTS_BY_NAME:
                    yield f"{where}: write import_module('the.name'), which can be checked"
            elif top in ("torch", "functorch"):  # torch comes with functorch
                if not under(module, TORCH_ONLY_IN):
                    yield f"{where}: only {' and '.join(TORCH_ONLY_IN)} may import torch"
                elif name.startswith(TORCH_INTERNALS) and not under(
                    module, TORCH_INTERNALS_ONLY_IN
                ):
                    yield f"{where}: torch's internals belong in pellucid.torch.taps ({name})"
            elif top == "pellucid":
                if name == "pellucid._core" and not under(module, USES_EXTENSION):
                    yield f"{where}: the extension is reached through pellucid.decompilation"
                if under(module, TORCH_FREE) and not under(name, TORCH_FREE):
                    yield f"{where}: what reads captures must not know {name}"
                folder = layer_of(module)
                other = layer_of(name)
                if folder and other not in ("", folder, *PYTHON_LAYERS[folder]):
                    yield f"{where}: {folder} must not know {other} ({name})"
            elif LOADED_BY.get(top) == module or top in OPTIONAL:
                continue
            elif standard and top not in standard and top not in THIRD_PARTY:
                yield f"{where}: {top} is no dependency of pellucid"


def imported_at_run_time(path: Path, modules: Set[str]) -> Set[str]:
    """Return which of pellucid's `modules` a module imports, in a function or not."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and called(node.test) == "TYPE_CHECKING":
            node.body = []
    lines: Dict[int, Set[str]] = {}
    for line, name in imports_of(tree, module_name(path), path.name == "__init__.py"):
        lines.setdefault(line, set()).add(name)
    for names in lines.values():  # in `from package import module`, the package is only a path
        package = min(names, key=len)
        if len(names) > 1 and names - {package} <= modules:
            names.remove(package)
    return {name for names in lines.values() for name in names & modules}


def check_circles() -> Iterator[str]:
    """Yield a line if modules import each other in a circle, also if functions do so."""
    paths = {module_name(p): p for p in (ROOT / "python" / "pellucid").rglob("*.py*")}
    left = {
        name: imported_at_run_time(path, set(paths))
        for name, path in paths.items()
        if path.suffix == ".py"
    }
    while left:
        ends = [name for name, names in left.items() if not names & left.keys()]
        if not ends:
            met = [min(left)]
            while met[-1] not in met[:-1]:
                met.append(min(left[met[-1]] & left.keys()))
            yield f"python: {' imports '.join(met[met.index(met[-1]) :])}"
            return
        for name in ends:
            del left[name]


def main() -> int:
    """Print every violation; return their number, at most 100."""
    problems = [*check_folders(), *check_includes(), *check_link_lines(), *check_python()]
    problems += [*check_circles(), *check_hidden_names()]
    for problem in sorted(set(problems)):
        print(problem)
    return min(len(problems), 100)


if __name__ == "__main__":
    sys.exit(main())

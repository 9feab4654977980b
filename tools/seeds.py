"""Write small `.pyc` files of every CPython into a folder, as seeds for the fuzzers.

The smallest compiled cases of each version (`tests/cases/pyc`), which need no interpreter, are
seeds as they are; the sources below are compiled by every CPython found.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from pythons import VERSIONS, minor

SEEDS = {
    "flow": "def f(x):\n for i in x:\n  if i: continue\n  while i: break\n else: return 1\n",
    "try": "def f(x):\n try: g()\n except E as e: h(e)\n else: i()\n finally: j()\n",
    "with": "def f(x):\n with x as y, z: return y\n",
    "names": "global a\nimport b.c as d\nfrom e import *\n",
    "class": "class F(G, k=1):\n x: int = lambda y: [z for z in y]\n",
    "consts": "x = (1, 2.5, 3j, 'a', b'b', None, True, ..., 10**30, {1, 2} & {3})\n",
    "async": "async def f(x):\n async with x as y:\n  async for z in y: yield await z\n",
    "calls": "def f(*a, k=1, **b):\n return g(*a, 1, x=2, **b)[1:2](not a, f'{a!r:>{k}}')\n",
}

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases" / "pyc"
LARGEST = 1500  # bytes: a fuzzer changes small inputs more often, and to more effect

_COMPILE = """
import py_compile, sys
py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)
"""


def main(folder: Path) -> int:
    """Copy the small cases; compile every seed with every interpreter."""
    # By path, so that fuzzing needs no built extension.
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(__file__).resolve().parent.parent / "python" / "pellucid" / "interpreters.py"
    spec = spec_from_file_location("interpreters", path)
    assert spec is not None and spec.loader is not None
    interpreters = module_from_spec(spec)
    spec.loader.exec_module(interpreters)

    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES.rglob("*.pyc"):
        if case.stat().st_size <= LARGEST:
            shutil.copyfile(case, folder / "-".join(case.relative_to(CASES).parts))
    for name, text in SEEDS.items():
        source = folder / f"{name}.txt"
        source.write_text(text)
        for version in VERSIONS:
            python = interpreters.find_interpreter((3, minor(version)))
            if python is not None:
                target = folder / f"{name}-{version}.pyc"
                command = [str(python), "-I", "-c", _COMPILE, str(source), str(target)]
                subprocess.run(command, check=True)
        source.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

# SPDX-License-Identifier: Apache-2.0
"""Write the artifacts in tests/torch/saved, of the functions in programs/saved.py.

    python tests/torch/saved/make.py FOLDER

Run it with the torch whose artifacts are wanted. File names in them are relative.
"""

import gzip
import os
import sys
import types
from pathlib import Path

os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/saved_cache"

import torch
from torch._dynamo.precompile_context import PrecompileContext

PROGRAM = "saved.py"


def program() -> types.ModuleType:
    module = types.ModuleType("saved")
    module.__file__ = PROGRAM
    sys.modules["saved"] = module
    exec(compile(Path(PROGRAM).read_text(encoding="utf-8"), PROGRAM, "exec"), module.__dict__)
    return module


def main(folder: Path) -> None:
    os.chdir(Path(__file__).resolve().parent.parent / "programs")
    saved = program()
    version = ".".join(torch.__version__.split(".")[:2])

    def write(name: str, data: bytes) -> None:
        (folder / f"{name}-{version}.gz").write_bytes(gzip.compress(data, 9, mtime=0))

    with torch.no_grad():
        compiled = torch.compile(saved.gate, fullgraph=True)
        given = torch.ones(4, 3), 7, {"scale": 2.0, "names": ["a", "b"]}
        made = compiled.aot_compile((given, {}))
        write("function", type(made).serialize(made).serialized_data)
        with torch._dynamo.config.patch(caching_precompile=True):
            halves = torch.compile(saved.halves, backend="eager")
            halves(torch.ones(6))
            halves(torch.ones(9))
            PrecompileContext.save_to_dynamo_cache()
    for entry in Path("/tmp/saved_cache/dynamo").rglob("entry"):
        write("package", entry.read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

"""Make the files that the pages on decompiling look at, as if their sources were lost."""

import base64
import importlib.util
import marshal
import os
import py_compile
import zipfile
from pathlib import Path

MODE = py_compile.PycInvalidationMode.UNCHECKED_HASH
for name in ("best", "pay"):
    py_compile.compile(f"{name}.py", f"{name}.pyc", f"{name}.py", True, invalidation_mode=MODE)

# A package in a zip archive, compiled.
with zipfile.ZipFile("package.zip", "w") as archive:
    archive.write("best.pyc", "scores/best.pyc")
    archive.write("best.pyc", "scores/__init__.pyc")

# Code within a constant, and a constant that nothing loads.
hidden = compile("import os\nprint('here', os.getpid())\n", "hidden.py", "exec")
packed = base64.b64encode(marshal.dumps(hidden))
text = f"import base64, marshal\nexec(marshal.loads(base64.b64decode({packed!r})))\n"
code = compile(text, "loader.py", "exec")
code = code.replace(co_consts=(*code.co_consts, "https://collect.example/report"))
header = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
Path("loader.pyc").write_bytes(header + marshal.dumps(code))

# The same without its header, under a name that says nothing.
Path("blob.bin").write_bytes(marshal.dumps(code))
os.remove("best.py")

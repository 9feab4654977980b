# SPDX-License-Identifier: Apache-2.0
"""Compile example.py into src/example.ts: run by Python 3.13, `python3.13 make_example.py`."""

import base64
import importlib.util
import marshal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write the file."""
    source = (HERE / "example.py").read_bytes()
    code = compile(source, "example.py", "exec", dont_inherit=True)
    header = importlib.util.MAGIC_NUMBER + bytes(8) + len(source).to_bytes(4, "little")
    text = base64.b64encode(header + marshal.dumps(code)).decode()
    rows = [text[at : at + 88] for at in range(0, len(text), 88)]
    lines = " +\n".join(f'    "{row}"' for row in rows)
    (HERE / "src" / "example.ts").write_text(
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Made of example.py by make_example.py. Do not edit.\n\n"
        f'export const EXAMPLE = {{\n  name: "example.pyc",\n  base64:\n{lines},\n}};\n'
    )


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Check a certificate that `pellucid decompile --certificate` has written.

    python3.14 tools/check_certificate module.pyc module.py module.json

Check that the text in module.py does what the code in module.pyc does. Run it with the Python
version of module.pyc, 3.12 to 3.15. It uses no code of pellucid's. From the certificate it takes
only where to look: a wrong certificate cannot make it accept a wrong text.

Exit code: 0 if everything is accepted, 1 if something is refused, 2 for wrong usage.
"""

import hashlib
import importlib.util
import json
import marshal
import sys
import types
from pathlib import Path
from typing import Any, List

from codes import VERSION, Refused
from walk import check

FORMAT = "pellucid certificate 1"


def main(arguments: List[str]) -> int:
    """Check one certificate and print the outcome."""
    if len(arguments) != 3 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        pyc, text, certificate = (Path(name).read_bytes() for name in arguments)
        outcome = check_files(pyc, text, certificate)
    except OSError as error:
        print(f"check_certificate: {error}", file=sys.stderr)
        return 2
    except Refused as why:
        outcome = [f"refused: {why}"]
    for line in outcome:
        print(line)
    return 1 if any(line.startswith("refused") for line in outcome) else 0


def check_files(pyc: bytes, text: bytes, certificate: bytes) -> List[str]:
    """Return what is to be said of a file, its text and the certificate."""
    claimed = read_certificate(certificate)
    for name, data in (("code", pyc), ("text", text)):
        if hashlib.sha256(data).hexdigest() != claimed[name]:
            raise Refused(f"the certificate is for a different {name}")
    counts, refused = check(code_in(pyc), compiled(text), claimed["meetings"])
    if refused:
        return [f"refused: {path}: {why}" for path, why in refused]
    total = sum(counts.values())
    return [f"accepted: {total} code objects, {counts['same bytes']} of them the same bytes"]


def read_certificate(data: bytes) -> Any:
    """Return a certificate as plain values. Raises Refused if it is none."""
    try:
        claimed = json.loads(data)
        if claimed["format"] != FORMAT:
            raise Refused(f"not a certificate: its format is not {FORMAT!r}")
        version = ".".join(map(str, VERSION))
        if claimed["python"] != version:
            raise Refused(f"the code is Python {claimed['python']}, and this is {version}")
        hints = {
            str(path): [(int(x), int(y)) for x, y in pairs]
            for path, pairs in claimed["meetings"].items()
        }
        return {"code": claimed["code"], "text": claimed["text"], "meetings": hints}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(f"not a certificate: {error!r}") from error


def code_in(pyc: bytes) -> types.CodeType:
    """Return the code object of a file with a header of this Python's."""
    if VERSION not in ((3, 12), (3, 13), (3, 14), (3, 15)):
        raise Refused("the checker knows Python 3.12 to 3.15")
    if pyc[:4] != importlib.util.MAGIC_NUMBER:
        raise Refused("the file is not compiled by this Python version")
    code = marshal.loads(pyc[16:])
    if not isinstance(code, types.CodeType):
        raise Refused("the file holds no code")
    return code


def compiled(text: bytes) -> types.CodeType:
    """Return what this Python compiles a text to."""
    try:
        return compile(text, "<text>", "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"the text does not compile: {error}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""`pellucid inspect`: the contents of a file, including those that its source does not show."""

import json
import time
from typing import Any, Dict, List, Optional, Tuple

from pellucid.decompilation import contents_of, prove_pyc
from pellucid.errors import DecompileError
from pellucid.following import hidden_in
from pellucid.inputs import Job

Found = Dict[str, Any]


def inspect_job(job: Job, version: Optional[Tuple[int, int]] = None) -> Found:
    """Return the contents of one file as plain values for JSON; "error" is set if it has none."""
    found: Found = {"file": job.name, "error": None}
    try:
        data = job.read()
        found["container"] = job.member and str(job.path)
        found.update(_of_bytes(data, version))
    except OSError as error:
        found["error"] = (error.strerror or str(error)).lower()
    except DecompileError as error:
        found["error"] = str(error)
    except MemoryError:
        found["error"] = "not enough memory"
    return found


def _of_bytes(data: bytes, version: Optional[Tuple[int, int]]) -> Found:
    raw = contents_of(data, version)
    verdict = prove_pyc(data, version=version)[1]
    verdicts = {code.number: code for code in verdict.codes}
    codes = []
    for code in raw["codes"]:
        said = verdicts.get(code["number"])
        own = {key: code[key] for key in code if key not in ("number", "findings")}
        own["verdict"] = said.status if said is not None else None
        own["reason"] = said.reason if said is not None else None
        own["findings"] = _findings(code["findings"])
        codes.append(own)
    hidden = [
        {
            "number": each.number,
            "code": each.holder,
            "layers": list(each.layers),
            "size": len(each.data),
            "is": "code" if each.is_code else "source",
        }
        for each in hidden_in(data, version)
    ]
    return {
        "python": "{}.{}".format(*raw["python"]),
        "notes": raw["notes"],
        "header": _header(raw),
        "start": raw["start"],
        "end": raw["end"],
        "size": len(data),
        "subject": raw["subject"] or "a module",
        "verdict": verdict.status,
        "tier": verdict.tier,
        "reason": verdict.reason,
        "findings": _findings(raw["findings"]),
        "codes": codes,
        "hidden": hidden,
    }


def _findings(raw: "List[Tuple[str, str, int, bool]]") -> "List[Found]":
    return [
        {"kind": kind, "text": text, "offset": offset, "common": common}
        for kind, text, offset, common in raw
    ]


def _header(raw: Found) -> Optional[Found]:
    if raw["start"] == 0:
        return None
    header = {"magic": raw["magic"], "magic_is": raw["magic_words"], "flags": raw["flags"]}
    if raw["start"] < 16:
        return header
    if raw["flags"] & 1:
        header["hash"] = f"{raw['date'] | raw['size'] << 32:016x}"
    else:
        header["source_date"] = raw["date"]
        header["source_size"] = raw["size"]
    return header


def as_json(found: Found) -> str:
    """Return one line of JSON."""
    return json.dumps(found) + "\n"


def as_text(found: Found) -> str:
    """Return the text form."""
    lines = [found["file"]]
    if found["container"]:
        lines.append(f"  container    {found['container']}")
    lines.append(f"  holds        {found['subject']}, CPython {found['python']}")
    lines += [f"  note         {note}" for note in found["notes"]]
    lines.append(f"  header       {_header_text(found['header'], found['start'])}")
    lines.append(
        f"  code         bytes 0x{found['start']:x} to 0x{found['end']:x} of 0x{found['size']:x}"
    )
    lines.append(f"  verdict      {found['verdict']} ({found['tier']})")
    lines += [f"  {_offset(each)}{each['text']}" for each in found["findings"]]
    for hidden in found["hidden"]:
        layers = ", ".join(hidden["layers"]) or "marshal"
        lines.append(
            f"  hidden {hidden['number']:5} {hidden['is']} of {hidden['size']} bytes in a constant"
            f" of {hidden['code']}: {layers} (--follow decompiles it)"
        )
    for code in found["codes"]:
        verdict = code["verdict"] or "not shown by the source"
        lines.append(
            f"  {code['code']}: line {code['line']}, {code['bytecode']} bytes, "
            f"{code['constants']} constants, {code['names']} names, {verdict}"
        )
        if code["reason"]:
            lines.append(f"    {code['reason']}")
        lines += [
            f"    {_offset(each)}{each['text']}" for each in code["findings"] if not each["common"]
        ]
    return "".join(f"{_printable(line)}\n" for line in lines)


def _offset(finding: Found) -> str:
    return f"at byte 0x{finding['offset']:x}: " if finding["offset"] else ""


def _header_text(header: Optional[Found], size: int) -> str:
    if header is None:
        return "none"
    text = f"{size} bytes, {header['magic_is']}, flags 0x{header['flags']:x}"
    if "hash" in header:
        return f"{text}, hash of the source {header['hash']}"
    if "source_date" not in header:
        return text
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(header["source_date"]))
    return f"{text}, source of {header['source_size']} bytes from {date} UTC"


def _printable(line: str) -> str:
    # Names in the input may contain any characters; escape them to keep one line.
    return "".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in line)

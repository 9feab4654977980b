"""Record the logs of tests/torch/logs anew: `python tests/torch/agreement/record_logs.py`.

Programs are run with TORCH_TRACE set, one alone and one as two ranks. What a log holds of this
machine, its paths and most settings, is taken out, and the checksums of payloads are made anew.
"""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, List, Tuple

TESTS = Path(__file__).resolve().parents[1]
LOGS, PROGRAMS = TESTS / "logs", TESTS / "programs"
HOME = "/home/you/project"
LIBRARIES = "/usr/lib/python3/dist-packages"
SETTINGS = ("recompile_limit", "suppress_errors", "disable", "specialize_float")
NOT_KEPT = ("describe_", "guard_added", "create_symbol", "create_env", "propagate_real")


def main() -> None:
    """Run the programs and write their logs."""
    LOGS.mkdir(exist_ok=True)
    for old in LOGS.rglob("*.gz"):
        old.unlink()
    for logs in record("logged.py", "one"):
        write(LOGS / "one.log.gz", logs)
    (LOGS / "ranks").mkdir(exist_ok=True)
    for rank, logs in enumerate(record("logged.py", "ranks")):
        write(LOGS / f"ranks/dedicated_log_torch_trace_rank_{rank}_x.log.gz", logs)


def record(program: str, how: str) -> Iterator[List[str]]:
    """Yield the lines of each log of a program, in the order of its names."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "TORCH_TRACE": folder}
        subprocess.run([sys.executable, str(PROGRAMS / program), how], check=True, env=env)
        for log in sorted(Path(folder).iterdir()):
            yield log.read_text(encoding="utf-8").split("\n")


def write(path: Path, lines: List[str]) -> None:
    """Write the lines of a log as they may be given on."""
    out = []
    for head, payload in records(lines):
        prefix, _, text = head.partition("] ")
        metadata = json.loads(text)
        if any(name.startswith(NOT_KEPT) for name in metadata):
            continue
        metrics = metadata.get("compilation_metrics")
        if isinstance(metrics, dict):
            settings = json.loads(metrics["dynamo_config"])
            for name in [name for name in metrics if name.endswith("_config")]:
                del metrics[name]
            kept = {name: settings[name] for name in SETTINGS if name in settings}
            metrics["dynamo_config"] = json.dumps(kept)
            metrics.pop("exception_stack_trace", None)
        payload = [of_nobody(line) for line in payload]
        if payload:
            digest = hashlib.md5("\n".join(payload).encode())
            metadata["has_payload"] = digest.hexdigest()
        out.append(of_nobody(f"{prefix}] {json.dumps(metadata)}"))
        out += [f"\t{line}" for line in payload]
    path.write_bytes(gzip.compress(("\n".join(out) + "\n").encode(), 9, mtime=0))


def records(lines: List[str]) -> Iterator[Tuple[str, List[str]]]:
    """Yield each record as its first line and the lines of its payload."""
    head, payload = "", []  # type: str, List[str]
    for line in lines:
        if line.startswith("\t"):
            payload.append(line[1:])
        else:
            if head:
                yield head, payload
            head, payload = line, []
    if head:
        yield head, payload


def of_nobody(text: str) -> str:
    """Take the places of this machine out of a line."""
    text = text.replace(str(PROGRAMS), HOME)
    text = re.sub(r"(?<![\w/])[\w/]*torch/programs/", "you/project/", text)
    text = re.sub(r"/[^\s\"':]*/site-packages", LIBRARIES, text)
    text = re.sub(r"/[^\s\"':]*/lib/python3\.", "/usr/lib/python3.", text)
    return re.sub(r"/tmp/torchinductor_\w+", "/tmp/torchinductor", text)


if __name__ == "__main__":
    main()

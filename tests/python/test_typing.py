"""A program that calls pellucid is type-checked against its real signatures."""

import re
import sys
from pathlib import Path

import pellucid
import pellucid.torch
import pytest
from commands import run
from needs import ROOT, need

# Each line that ends with `# TYPE` reveals that type, or is that error.
PROGRAM = """\
from pathlib import Path
from typing import Callable
import pellucid
import pellucid.torch
found = pellucid.decompile_ex(len)
reveal_type(pellucid.decompile(len))  # str
reveal_type(found)  # pellucid.result.Decompilation
reveal_type(found.verdict.status)  # Literal['identical', 'equivalent', 'unproven']
reveal_type(found.verdict.codes[0].status)  # Literal['identical', 'equivalent', 'unproven']
reveal_type(found.verdict.tier)  # Literal['recompiled', 'relowered', 'none']
reveal_type(pellucid.decompile_pyc(b"").source)  # str
reveal_type(pellucid.report("a", Path("b"), out="page.html", redact=True))  # pathlib.Path
reveal_type(pellucid.load("a"))  # pellucid.dump.model.capture.Capture
reveal_type(pellucid.import_log("a", "b"))  # pathlib.Path
reveal_type(pellucid.open_artifact("a", "b"))  # pathlib.Path
reveal_type(pellucid.find_nan(len, ()))  # pellucid.torch.api.nan.NanReport
reveal_type(pellucid.find_difference(len, ()))  # pellucid.dump.model.differences.Difference
reveal_type(pellucid.dump_graph("a", None))  # Union[pathlib.Path, None]
reveal_type(pellucid.Decompiler(len).decompile())  # str
reveal_type(pellucid.DecompileError("a").offset)  # int
reveal_type(pellucid.__version__)  # str
capture: pellucid.Capture = pellucid.load("a")
reveal_type(capture.of(pellucid.Frame)[0].verdict.proven)  # bool
reveal_type(capture.of(pellucid.Graph)[0].text)  # str
reveal_type(capture.of(pellucid.Break)[0].hints)  # tuple[str, ...]
reveal_type(capture.of(pellucid.Recompile)[0].reasons)  # tuple[str, ...]
reveal_type(capture.of(pellucid.events.Skipped)[0].reason)  # str
finding: pellucid.Finding = pellucid.find(capture)[0]
remedy: pellucid.Remedy = finding.remedies[0]
trial: pellucid.Trial = pellucid.try_remedy("a", remedy, finding=finding)
compared: pellucid.Comparison = pellucid.compare("a", Path("b"))
nan: pellucid.NanReport = pellucid.find_nan(len, ())
difference: pellucid.Difference = pellucid.find_difference(len, ())
decompilation: pellucid.Decompilation = found
verdict: pellucid.Verdict = found.verdict
matched: pellucid.Match = pellucid.match(b"", "x = 1", optimize=0)
session_of: Callable[[pellucid.Session], list[pellucid.Frame]] = lambda s: s.of(pellucid.Frame)
ported: pellucid.Ported = pellucid.port(b"", version=(3, 8))
ported_pickle: pellucid.PortedPickle = pellucid.port_pickle(b"")
raised = (pellucid.CannotStandIn, pellucid.CannotTry, pellucid.NotADump, pellucid.NotALog)
unported, unread = pellucid.CannotPort, pellucid.NotAnArtifact
pellucid.torch.dump_graph, pellucid.torch.find_difference, pellucid.torch.find_nan
pellucid.torch.debug, pellucid.torch.NanReport, pellucid.torch.prepare_debug
pellucid.torch.install, pellucid.torch.uninstall
with pellucid.prepare_debug("a") as session:
    reveal_type(session)  # pellucid.dump.store.session.Session
with pellucid.debug():
    pellucid.install()
    pellucid.uninstall()
class Dispatcher(pellucid.optimization.TorchCompileWrapperWithCustomDispatcher):
    pass
pellucid.decompiled(len)  # attr-defined
pellucid.report("a", quiet=True)  # call-arg
pellucid.report(1)  # arg-type
found.verify("guessed")  # arg-type
found.verdict.at_least("good")  # arg-type
"""

# Of torch, which is large, only what pellucid takes from it would be looked at.
CONFIG = """\
[mypy]
strict = true
[mypy-torch.*]
follow_imports = skip
ignore_missing_imports = true
"""


def plain(revealed: str) -> str:
    """Return a type in one spelling, whatever the release of mypy."""
    text = revealed.replace("builtins.", "")
    if " | " in text:
        text = f"Union[{', '.join(text.split(' | '))}]"
    literals = re.findall(r"Literal\[('\w+')\]\??", text)
    if text.startswith("Union[") and len(literals) > 1:
        text = f"Literal[{', '.join(literals)}]"
    return text


@pytest.mark.skipif(sys.version_info < (3, 9), reason="mypy needs Python 3.9")
def test_a_strict_check_of_a_program_sees_real_types(tmp_path: Path) -> None:
    need("mypy")
    program, config = tmp_path / "program.py", tmp_path / "mypy.ini"
    program.write_text(PROGRAM, encoding="utf-8")
    config.write_text(CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--show-error-codes"]
    options = ["--config-file", config, "--cache-dir", tmp_path / "cache", program]
    done = run(*command, *options)
    said = {}
    for number, kind, message in re.findall(
        r"^\S*program\.py:(\d+): (note: Revealed type is|error:) (.*)$", done.stdout, re.MULTILINE
    ):
        is_error = kind == "error:"
        text = message.rpartition("[")[2][:-1] if is_error else plain(message.strip('"'))
        said[int(number)] = text
    wanted = {
        number: line.rpartition("  # ")[2]
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "  # " in line
    }
    assert said == wanted, done.stdout + done.stderr


def test_the_program_uses_every_public_name() -> None:
    for module in (pellucid, pellucid.torch):
        used = set(re.findall(rf"\b{module.__name__}\.(\w+)", PROGRAM))
        assert set(module.__all__) <= used, module.__name__


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "python" / "pellucid" / "py.typed").is_file()

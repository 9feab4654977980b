"""install() adds source to torch's bytecode log, and uninstall() takes it away again."""

import logging

import pellucid
import pytest


@pytest.fixture
def bytecode_log(torch, dynamo):
    log = logging.getLogger("torch._dynamo.convert_frame.__bytecode")
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    torch._logging.set_logs(bytecode=True)
    log.addHandler(handler)
    yield records
    log.removeHandler(handler)
    torch._logging.set_logs()


def test_source_is_logged_while_installed(bytecode_log, torch, dynamo, program):
    several = program("several")
    pellucid.install()
    pellucid.install()
    torch.compile(several.plain, backend="eager")(torch.zeros(2))
    ours = [text for text in bytecode_log if text.startswith("DECOMPILED BYTECODE plain")]
    assert len(ours) == 1
    assert "def plain(x):" in ours[0]
    pellucid.uninstall()
    pellucid.uninstall()
    bytecode_log.clear()
    dynamo.reset()
    torch.compile(several.sized, backend="eager")(torch.zeros(2))
    assert any("MODIFIED BYTECODE" in text for text in bytecode_log)
    assert not [text for text in bytecode_log if "DECOMPILED" in text]

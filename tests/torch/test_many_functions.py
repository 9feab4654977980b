"""Captures of many functions."""

import time

from pellucid.dump.model.events import CompileKey, Frame, Link, Place, Verdict
from pellucid.dump.store.session import Session
from pellucid.torch.capture import summary

MANY = 4000


def test_linking_resume_functions_takes_linear_time(tmp_path):
    """It took 28 s when each link was looked for among all calls and replaced among all events."""
    session = Session(tmp_path / "dump")
    codes = [compile(f"x{number}", "f.py", "eval") for number in range(2 * MANY)]
    for number, code in enumerate(codes):
        key, links = CompileKey(f"{number}/0"), ()
        if number % 2 == 0:  # the next one resumes it
            session.resumes.note(key, {7: codes[number + 1]})
            links = (Link(7, "resume", ""),)
        parent = session.resumes.parent(code, key)
        function, place = session.functions.number(code), Place("f.py", 1, "f")
        known = (key, function, place, "", Verdict("identical"), f"{number}.py", True)
        session.record(Frame(*known, links=links, parent=parent))
    started = time.process_time()
    summary._link_resume_functions(session)
    assert time.process_time() - started < 5
    frames = session.of(Frame)
    assert [f.links[0].target for f in frames[::2]] == [f.file for f in frames[1::2]]
    assert [f.parent for f in frames[1::2]] == [f.key.id for f in frames[::2]]
    assert [session.of(Frame, f.key) for f in frames] == [[f] for f in frames]


def test_a_reset_reads_what_was_compiled_since_the_last_one(tmp_path, monkeypatch):
    """Tests that reset torch read all functions of the tests before them, at each reset."""
    read = []
    monkeypatch.setattr(summary.hooks, "cache_entries", lambda code: read.append(code) or [])
    session = Session(tmp_path / "dump")
    codes = [compile(f"x{number}", "f.py", "eval") for number in range(100)]
    for code in codes:
        session.functions.number(code)
        summary.refresh_caches(session, forgotten=True)
    assert read == codes
    session.functions.number(codes[0])
    summary.refresh_caches(session)
    assert read == [*codes, codes[0]], "it was compiled again"

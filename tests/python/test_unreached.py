"""Bytes that nothing reaches cost nothing, and what is reached and cannot be said costs its place.

Each CPython makes the files itself: a function whose bytecode has junk after its last return, junk
that is jumped over or that a test of a constant skips, operands of dead code that point nowhere,
jumps past an EXTENDED_ARG, targets that count half a code unit. CPython runs all of them.
"""

import json
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List

import pytest
from commands import run
from needs import VERSIONS, need

MAKER = r'''
import dis, importlib.util, marshal, os, sys, types

out, V, OP = sys.argv[1], sys.version_info[:2], dis.opmap
UNIT = 1 if V >= (3, 10) else 2  # what a jump counts in, per two bytes
SOURCE = """def grade(x):
    if x > 50:
        return 'high'
    return 'low'
print(grade(70), grade(3))
"""
# Numbers of specialised and instrumented opcodes have no name either, but a meaning.
BAD = next(n for n in range(127 if V >= (3, 13) else 250, 0, -1) if dis.opname[n].startswith('<'))
CACHES = getattr(dis, '_inline_cache_entries', None) or {}


def caches(name):
    """Bytes of inline cache."""
    found = CACHES.get(name, 0) if hasattr(CACHES, 'get') else CACHES[OP[name]]
    return [0, 0] * found


FIRST = len([0, 0] + caches('RESUME')) if V >= (3, 11) else 0  # where RESUME has been
TRUE = OP['POP_JUMP_FORWARD_IF_TRUE'] if V == (3, 11) else OP['POP_JUMP_IF_TRUE']
JUNK = [BAD, 7, BAD, 99, OP['LOAD_CONST'], 200, OP['EXTENDED_ARG'], 255, BAD, BAD]


def changed(code, text, **more):
    n = len(text) // 2
    table = 'co_linetable' if V >= (3, 10) else 'co_lnotab'
    if V >= (3, 11):
        # One entry after the other, no line changes.
        runs = [min(8, n - at) - 1 for at in range(0, n, 8)]
        more[table] = b''.join(bytes([0x80 | 13 << 3 | run, 0]) for run in runs)
    else:
        more[table] = b'' if V < (3, 10) else bytes([min(254, 2 * n), 0])
    return code.replace(co_code=bytes(text), **more)


def put_first(code, new, **more):
    old = bytearray(code.co_code)
    if V < (3, 11):
        for at in range(0, len(old), 2):
            if old[at] in dis.hasjabs:
                old[at + 1] += len(new) // 2 * UNIT
    return changed(code, old[:FIRST] + bytes(new) + old[FIRST:], **more)


def forward(junk, off=0):
    return [OP['JUMP_FORWARD'], len(junk) // 2 * UNIT + off] + junk


def tested(load, junk, code):
    """A test that jumps over junk."""
    head = load + [TRUE, 0] + caches(dis.opname[TRUE])
    to = len(junk) // 2 if V >= (3, 11) else (FIRST + len(head) + len(junk)) // 2 * UNIT
    head[len(load) + 1] = to
    return head + junk


def save(name, change):
    base = compile(SOURCE, 'sample.py', 'exec')
    consts = tuple(change(c) if isinstance(c, types.CodeType) else c for c in base.co_consts)
    data = marshal.dumps(base.replace(co_consts=consts))
    with open(os.path.join(out, name + '.pyc'), 'wb') as file:
        file.write(importlib.util.MAGIC_NUMBER + bytes(12) + data)


def constant(c, value):
    return [OP['LOAD_CONST'], len(c.co_consts)], {'co_consts': c.co_consts + (value,)}


def decided(c):
    load, more = constant(c, True)
    return put_first(c, tested(load, JUNK, c), **more)


def undecided(c):
    load = [OP['LOAD_FAST'], 0]
    if V >= (3, 13):
        load += [OP['TO_BOOL'], 0] + caches('TO_BOOL')
    return put_first(c, tested(load, JUNK, c))


dead = [OP['LOAD_CONST'], 250, OP['LOAD_FAST'], 200, OP['STORE_NAME'], 199]
dead += forward([0, 0] * 77)[:2]
save('plain', lambda c: c)
save('lineless', lambda c: changed(c, c.co_code))
save('junk_after', lambda c: changed(c, c.co_code + bytes(JUNK)))
save('junk_skipped', lambda c: put_first(c, forward(JUNK)))
save('dead_operands', lambda c: put_first(c, forward(dead)))
save('decided', decided)
drop = [OP['LOAD_CONST'], 0, OP['POP_TOP'], 0]
save('past_extended', lambda c: put_first(c, forward([OP['EXTENDED_ARG'], 255]) + drop))
if V < (3, 10):
    save('half_a_unit', lambda c: put_first(c, forward(JUNK, 1)))
# Reached, when x is false.
save('place', undecided)
# Control runs out of the code where the function has returned 'low'.
last = 2 if V in ((3, 12), (3, 13)) else 4  # RETURN_CONST, or a load and a return
save('runs_out', lambda c: changed(c, c.co_code[:-last]))
'''

UNREACHED = ["junk_after", "junk_skipped", "dead_operands", "decided", "past_extended"]
PLACES = {"place": "at offset", "runs_out": "control leaves the code"}
NATIVE = str(need("native"))


@pytest.fixture(scope="module", params=VERSIONS)
def files(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """Yield the folder of one version's files."""
    folder = tmp_path_factory.mktemp(request.param)
    python = need(f"python{request.param}")
    subprocess.run([str(python), "-I", "-c", MAKER, str(folder)], check=True)
    (folder / "python").write_text(str(python))
    yield folder


def printed(folder: Path, *command: str) -> str:
    """Return what a program prints under the CPython of the folder's files."""
    python = (folder / "python").read_text()
    return subprocess.run(
        [python, "-I", *command], stdout=subprocess.PIPE, check=True
    ).stdout.decode()


def decompiled(folder: Path, name: str) -> Dict[str, object]:
    said = run(NATIVE, "decompile", "--json", folder / f"{name}.pyc")
    found: Dict[str, object] = json.loads(said.stdout)
    return {**found, "status": said.returncode}


def body(text: object) -> List[str]:
    """Return the lines of a text without comments."""
    return [line for line in str(text).splitlines() if not line.strip().startswith("#")]


@pytest.mark.parametrize("name", UNREACHED)
def test_what_nothing_reaches_costs_nothing(files: Path, name: str) -> None:
    found = decompiled(files, name)
    assert found["status"] == 0, found
    assert found["verdict"] == "equivalent", found["reason"]
    assert "NotImplementedError" not in str(found["source"])
    assert "'high'" in str(found["source"]) and "'low'" in str(found["source"])
    assert printed(files, "-c", str(found["source"])) == printed(files, str(files / f"{name}.pyc"))


@pytest.mark.parametrize("name", ["junk_after", "junk_skipped", "dead_operands"])
def test_the_text_is_as_without_it(files: Path, name: str) -> None:
    assert body(decompiled(files, name)["source"]) == body(decompiled(files, "lineless")["source"])


def test_half_a_code_unit_of_a_target_is_nothing(files: Path) -> None:
    if not (files / "half_a_unit.pyc").exists():
        pytest.skip("from 3.10 on targets count code units")
    found = decompiled(files, "half_a_unit")
    assert found["status"] == 0 and found["verdict"] == "equivalent", found
    assert printed(files, "-c", str(found["source"])) == printed(
        files, str(files / "half_a_unit.pyc")
    )


@pytest.mark.parametrize("name", sorted(PLACES))
def test_what_is_reached_and_cannot_be_said_costs_its_place(files: Path, name: str) -> None:
    found = decompiled(files, name)
    source = str(found["source"])
    assert found["status"] == 1 and found["verdict"] == "unproven", found
    assert source.count("raise NotImplementedError('pellucid: ") == 1, source
    assert PLACES[name] in source and "'high'" in source, source
    # The rest behaves.
    calls = source.replace("print(grade(70), grade(3))", "print(grade(70))")
    assert calls != source and printed(files, "-c", calls) == "high\n"


def test_the_instructions_stand_beside_the_place(files: Path) -> None:
    lines = [line.strip() for line in str(decompiled(files, "place")["source"]).splitlines()]
    at = next(i for i, line in enumerate(lines) if line.startswith("raise NotImpl"))
    assert lines[at - 1].startswith("# ") and "LOAD_CONST 200" in lines[at - 1], lines


@pytest.mark.parametrize("stage", ["dis", "raw", "stream", "flow", "ir"])
def test_listings_show_what_can_be_listed(files: Path, stage: str) -> None:
    command = ["dis"] if stage == "dis" else ["dump", f"--stage={stage}"]
    for name in UNREACHED:
        said = run(NATIVE, *command, files / f"{name}.pyc")
        assert said.returncode == 0 and "grade" in said.stdout, said
    said = run(NATIVE, *command, files / "place.pyc")
    assert said.returncode == 1 and "at offset" in said.stderr
    assert "high" in said.stdout or stage in ("raw", "ir")

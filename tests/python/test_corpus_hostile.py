"""`pellucid corpus` on inputs that mean it ill: each costs itself only."""

import os
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from case_pycs import pycs_of
from needs import need
from pellucid import DecompileError, containers
from pellucid.corpus import found
from pellucid.inputs import find

PYC = next(data for name, data in pycs_of("3.12").items() if name.startswith("loops/"))


def pyc(number):
    """The same code in a file of its own: the date in its header differs."""
    return PYC[:8] + number.to_bytes(4, "little") + PYC[12:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    inputs = tmp_path_factory.mktemp("in")
    (inputs / "aa_good.pyc").write_bytes(pyc(1))
    with zipfile.ZipFile(inputs / "bomb.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        with wheel.open("bomb.pyc", "w") as bomb:
            for _ in range(257):
                bomb.write(bytes(1 << 20))
        wheel.writestr("good.pyc", pyc(2))
    with zipfile.ZipFile(inputs / "million.whl", "w") as wheel:
        for number in range(1000):
            wheel.writestr(zipfile.ZipInfo(f"{number}.pyc"), pyc(1000 + number))
    Path(os.fsdecode(os.fsencode(inputs) + b"/n\xff\xfe.pyc")).write_bytes(pyc(3))
    (inputs / "dangling.pyc").symlink_to("nowhere.pyc")
    (inputs / "loop.pyc").symlink_to("loop.pyc")
    (inputs / "folder.pyc").mkdir()
    os.mkfifo(inputs / "fifo.txt")
    (inputs / "zz_good.pyc").write_bytes(pyc(4))
    return inputs


def test_what_cannot_be_read_leaves_the_others(folder, monkeypatch):
    monkeypatch.setattr(containers, "MOST_MEMBERS", 500)
    read, refused = {}, {}
    for place in found.places([str(folder)]):
        name = place.origin[len(str(folder)) + 1 :]
        try:
            read[name] = found.read(place).data
        except Exception as error:
            refused[name] = found.reason(error)
    names = ["aa_good.pyc", "bomb.whl/good.pyc", "n\udcff\udcfe.pyc", "zz_good.pyc"]
    assert list(read) == names
    assert "larger than 256 MiB" in refused.pop("bomb.whl/bomb.pyc")
    assert "more than" in refused.pop("million.whl")
    assert refused.keys() == {"dangling.pyc", "loop.pyc"}


def test_the_rows_of_the_others_are_there(folder, tmp_path):
    for name in ("pyarrow", "fsspec", "pebble"):
        need(name)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "pellucid", "corpus", folder, "-o", out, "--no-verify"]
    done = subprocess.run(command, stderr=subprocess.PIPE, encoding="utf-8")
    assert done.returncode == 1 and "bomb.whl/bomb.pyc: larger than" in done.stderr
    import pyarrow.dataset as ds

    rows = ds.dataset(out, partitioning="hive").to_table().to_pylist()
    assert {row["outcome"] for row in rows} == {"decompiled"} and len(rows) == 1004
    assert str(folder / "n\\udcff\\udcfe.pyc") in {row["origin"] for row in rows}


def ends(archive, entries, size, offset):
    """An archive with another end: what it says there, and in the record of a large archive."""
    at = archive.rfind(b"PK\5\6")
    count, told_size, told_offset = struct.unpack("<10xHII2x", archive[at:])
    large = struct.pack(
        "<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, told_size, told_offset
    )
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, entries, entries, size, offset, 0)
    return archive[:at] + large + locator + end


def count(place, monkeypatch):
    """How many members are found in an archive; None if there are too many."""
    monkeypatch.setattr(containers, "MOST_MEMBERS", 500)
    try:
        return len(containers.contents_of(place).members)
    except DecompileError as error:
        assert "more than 500 members" in str(error)
        return None


@pytest.mark.parametrize("number", (400, 600))
def test_entries_are_counted_wherever_an_archive_says_that_they_are(number, tmp_path, monkeypatch):
    plain = tmp_path / "plain.whl"
    with zipfile.ZipFile(plain, "w") as wheel:
        for each in range(number):
            wheel.writestr(f"{each}.pyc", b"")
    archive = plain.read_bytes()
    (offset,) = struct.unpack("<16xI2x", archive[-22:])
    most = (1 << 32) - 1
    different = {
        "large.whl": ends(archive, 0xFFFF, most, most),  # as Go writes each archive
        "small.whl": ends(archive, 1, 46, offset),
        "after.whl": b"#!/usr/bin/env python3\n" * 9 + archive,
    }
    for name, data in different.items():
        (tmp_path / name).write_bytes(data)
    for name in ("plain.whl", *different):
        assert count(tmp_path / name, monkeypatch) == (None if number > 500 else number), name


def test_many_archives_keep_no_file_open(tmp_path):
    for number in range(30):
        with zipfile.ZipFile(tmp_path / f"{number:02}.whl", "w") as wheel:
            wheel.writestr("a.pyc", pyc(number))
    before = len(os.listdir("/proc/self/fd"))
    members = [found.read_member for found in find(tmp_path)]
    assert len(os.listdir("/proc/self/fd")) == before
    assert [read() for read in members] == [pyc(number) for number in range(30)]


def test_an_archive_that_changes_is_read_anew(tmp_path):
    place = tmp_path / "some.whl"
    for number in (1, 2):
        with zipfile.ZipFile(place, "w") as wheel:
            wheel.writestr("a.pyc", pyc(number))
        os.utime(place, ns=(time.time_ns(), number))
        (member,) = find(place)
        assert member.read_member() == pyc(number)


def test_an_address_that_fails_midway_leaves_the_others():
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for name in "abc":
        files.pipe(f"/hostile/{name}.pyc", pyc(ord(name)))
    whole = type(files).get_file

    def get_file(self, name, copy, **options):
        whole(self, name, copy, **options)
        if name.endswith("/b.pyc"):
            Path(copy).write_bytes(PYC[:99])
            raise TimeoutError("the connection was lost")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(files), "get_file", get_file)
        places = [(p, p.read and p.read()) for p in found.places(["memory://hostile"])]
    assert [data for _, data in places] == [pyc(ord("a")), None, pyc(ord("c"))]
    assert "connection was lost" in places[1][0].error


def test_a_file_that_grows_or_goes_while_it_is_read_costs_itself(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.pyc").write_bytes(pyc(ord(name)))
    read = []
    for place in found.places([str(tmp_path)]):
        if place.origin.endswith("a.pyc"):
            (tmp_path / "b.pyc").unlink()
            (tmp_path / "c.pyc").write_bytes(PYC[:60])
        try:
            read.append(len(found.read(place).data))
        except FileNotFoundError:
            read.append(None)
    assert read == [len(PYC), None, 60]

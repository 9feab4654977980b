"""Tar archives, compressed files and image layers, alone and in each other."""

import bz2
import gzip
import importlib.util
import io
import json
import lzma
import pickle
import sys
import tarfile
import types
from pathlib import Path
from typing import Any, Dict, List

import pytest
from archives import code_only, small_pyc, zipped
from commands import run
from needs import need
from pellucid import containers


@pytest.fixture(params=["python", "native"])
def command(request: pytest.FixtureRequest) -> "List[str]":
    if request.param == "python":
        return [sys.executable, "-m", "pellucid"]
    return [str(need("native"))]


def tarred(members: "Dict[str, bytes]", form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link.pyc")
        link.type, link.linkname = tarfile.SYMTYPE, "elsewhere"
        archive.addfile(link)
    return out.getvalue()


def found_in(command: "List[str]", path: Path) -> "Dict[str, str]":
    """Return the members of an archive, each with its error."""
    done = run(*command, "decompile", path, "--json")
    assert "Traceback" not in done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == (1 if any(each["error"] for each in said) else 0), done.stderr
    return {each["file"][len(str(path)) :]: each["error"] for each in said}


LONG = "/".join("folder of a name that takes more than ustar has" for _ in range(6))

FORMS = {
    "ustar": (tarfile.USTAR_FORMAT, "a" * 60 + "/" + "b" * 70),
    "pax": (tarfile.PAX_FORMAT, LONG + "/ä"),
    "gnu": (tarfile.GNU_FORMAT, LONG),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_files_of_a_tar_archive(form: str, command: "List[str]", tmp_path: Path) -> None:
    number, name = FORMS[form]
    members = {
        "./a.pyc": small_pyc(),
        f"{name}.pyc": small_pyc(),
        "dumped": code_only(),
        "notes": b"class of text",
    }
    path = tmp_path / "archive"
    path.write_bytes(tarred(members, number))
    names = ["/a.pyc", f"/{name}.pyc", "/dumped"]
    assert found_in(command, path) == dict.fromkeys(names)
    path.write_bytes(gzip.compress(tarred(members, number)))
    assert found_in(command, path) == dict.fromkeys(names)


def test_a_checksum_of_signed_bytes_is_right(command: "List[str]", tmp_path: Path) -> None:
    data = bytearray(tarred({"größe.pyc": small_pyc()}, tarfile.GNU_FORMAT))
    signed = sum(b - 256 * (b > 127) for b in data[:148] + data[156:512]) + 8 * ord(" ")
    data[148:156] = b"%06o\0 " % signed
    path = tmp_path / "archive"
    path.write_bytes(data)
    assert found_in(command, path) == {"/größe.pyc": None}


def test_archives_of_different_kinds_in_each_other(command: "List[str]", tmp_path: Path) -> None:
    pyc = {"a.pyc": small_pyc()}
    wheel, tar = zipped(pyc), tarred(pyc)
    layer = gzip.compress(tarred({"lib/mod.pyc": small_pyc(), "lib/x.whl": wheel}))
    made = {
        "zip in tar": (tarred({"x.whl": wheel}), ["/x.whl/a.pyc"]),
        "tar in zip": (
            zipped({"x.tar": tar, "y": gzip.compress(tar)}),
            ["/x.tar/a.pyc", "/y/a.pyc"],
        ),
        "image": (
            tarred({"blobs/sha256/01": layer, "blobs/sha256/02": tar, "index.json": b"{}"}),
            [
                "/blobs/sha256/01/lib/mod.pyc",
                "/blobs/sha256/01/lib/x.whl/a.pyc",
                "/blobs/sha256/02/a.pyc",
            ],
        ),
        "code in gzip in zip": (
            zipped({"m.pyc.gz": gzip.compress(small_pyc())}),
            ["/m.pyc.gz/m.pyc"],
        ),
    }
    for name, (data, names) in made.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert found_in(command, path) == dict.fromkeys(names), name


def test_compressed_code_has_a_place_of_its_own(command: "List[str]", tmp_path: Path) -> None:
    path = tmp_path / "mod.pyc.gz"
    path.write_bytes(gzip.compress(small_pyc()[:100]) + gzip.compress(small_pyc()[100:]))
    done = run(*command, "decompile", path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "os.sep + x" in (tmp_path / "out" / "mod.py").read_text()
    path.write_bytes(gzip.compress(b"text of a log\n"))
    done = run(*command, "decompile", path)
    assert done.returncode == 1
    assert "no compiled Python in it" in done.stderr


@pytest.mark.parametrize("name", ["bz2", "xz"])
def test_only_python_unpacks(name: str, tmp_path: Path) -> None:
    compress = {"bz2": bz2.compress, "xz": lzma.compress}[name]
    packed = compress(tarred({"a.pyc": small_pyc()}))
    path = tmp_path / "packed"
    python = [sys.executable, "-m", "pellucid"]
    path.write_bytes(packed)
    assert found_in(python, path) == {"/a.pyc": None}
    words = f"compressed with {name}, which this program cannot unpack"
    done = run(need("native"), "decompile", path)
    assert done.returncode == 1 and words in done.stderr
    path.write_bytes(tarred({"x.tar": packed, "m.pyc": small_pyc(), "data": packed}))
    assert found_in(python, path) == dict.fromkeys(["/x.tar/a.pyc", "/m.pyc", "/data/a.pyc"])
    errors = found_in([str(need("native"))], path)
    assert list(errors) == ["/x.tar", "/m.pyc"] and words in errors["/x.tar"]


def test_lz4_is_unpacked_by_its_package(monkeypatch: Any, tmp_path: Path) -> None:
    # A frame of one block that is not compressed, as joblib compresses a pickle.
    data = pickle.dumps({"code": small_pyc()})
    size = (len(data) | 1 << 31).to_bytes(4, "little")
    frame = bytes.fromhex("04224d18604082") + size + data + bytes(4)
    path = tmp_path / "model.joblib"
    path.write_bytes(frame)
    done = run(sys.executable, "-m", "pellucid", "decompile", path)
    if importlib.util.find_spec("lz4") is None:
        words = "compressed with lz4, which this Python cannot unpack: install the package lz4"
        assert done.returncode == 1 and words in done.stderr
        path.write_bytes(tarred({"model.joblib": frame, "a.pyc": small_pyc()}))
        errors = found_in([sys.executable, "-m", "pellucid"], path)
        assert list(errors) == ["/model.joblib", "/a.pyc"] and words in errors["/model.joblib"]
        path.write_bytes(frame)

    class Decompressor:
        eof, unused_data = True, None

        def decompress(self, packed: bytes, most: int) -> bytes:
            return packed[11:-4][:most]

    module = types.SimpleNamespace(LZ4FrameDecompressor=Decompressor)
    monkeypatch.setitem(sys.modules, "lz4.frame", module)
    (member,) = containers.contents_of(path).members
    assert member.read() == small_pyc()


def test_what_is_damaged_costs_itself(command: "List[str]", tmp_path: Path) -> None:
    layer = bytearray(gzip.compress(tarred({"b.pyc": small_pyc()})))
    layer[-20] ^= 1
    members = {"a.pyc": small_pyc(), "blobs/layer": bytes(layer), "c.pyc": small_pyc()}
    path = tmp_path / "image"
    path.write_bytes(tarred(members))
    errors = found_in(command, path)
    assert list(errors) == ["/a.pyc", "/blobs/layer", "/c.pyc"]
    assert errors["/blobs/layer"].startswith("gzip: ")
    whole = tarred({"a.pyc": small_pyc(), "c.pyc": small_pyc()})
    path.write_bytes(whole[:1700])
    errors = found_in(command, path)
    assert errors["/a.pyc"] is None and "the archive ends in this member" in errors["/c.pyc"]
    path.write_bytes(whole[:1024] + b"X" + whole[1025:])
    errors = found_in(command, path)
    assert errors["/a.pyc"] is None and "tar: a damaged header" in errors["/byte 1024"]


def test_damaged_archives_are_errors(tmp_path: Path) -> None:
    whole = {"t": tarred({"a.pyc": small_pyc(), LONG: code_only()}), "z": b""}
    whole["z"] = gzip.compress(whole["t"])
    paths = []
    for name, data in whole.items():
        for at in range(0, len(data), max(1, len(data) // 60)):
            for kind, changed in (("c", data[:at]), ("x", bytearray(data))):
                if kind == "x":
                    changed[at] ^= 0xFF
                paths.append(tmp_path / f"{name}{kind}{at}")
                paths[-1].write_bytes(changed)
    for command in ([sys.executable, "-m", "pellucid"], [str(need("native"))]):
        done = run(*command, "decompile", *paths, "--json")
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        for line in done.stdout.splitlines():
            assert not (json.loads(line)["error"] or "").startswith("internal"), line


def test_a_bomb_that_begins_like_nothing_is_not_unpacked(tmp_path: Path) -> None:
    part = gzip.compress(bytes(8 << 20))
    path = tmp_path / "bomb.gz"
    path.write_bytes(part * 400)  # 3 GiB
    assert containers.contents_of(path) == (True, [])


def test_sources_are_members_if_they_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "sdist.tar.gz"
    path.write_bytes(gzip.compress(tarred({"a.py": b"A = 1\n", "a.pyc": small_pyc()})))
    assert [member.name for member in containers.contents_of(path).members] == ["a.pyc"]
    found = containers.contents_of(path, sources=True).members
    assert [(member.name, member.is_source) for member in found] == [
        ("a.py", True),
        ("a.pyc", False),
    ]
    assert found[0].read() == b"A = 1\n"

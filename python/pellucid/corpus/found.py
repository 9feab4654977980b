# SPDX-License-Identifier: Apache-2.0
"""From inputs to the bytes of code files: local ones, and addresses that fsspec can open."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence

from pellucid.corpus.rows import Item
from pellucid.inputs import Job, find, find_in_folder

Read = Callable[[], bytes]


class Place(NamedTuple):
    """A code file that was found, and is not read yet; or why it could not be."""

    origin: str
    read: Optional[Read]
    error: str = ""


def places(inputs: Sequence[str]) -> Iterator[Place]:
    """Yield the code files of the inputs, in the same order from run to run.

    Addresses are copied to a temporary file one by one; what is yielded has to be read before the
    next one is asked for.
    """
    for given in inputs:
        try:
            yield from _remote(given) if "://" in given else _local(given)
        except Exception as error:  # what opens addresses raises what it likes
            yield Place(given, None, reason(error))


def _local(given: str) -> Iterator[Place]:
    os.stat(given)
    empty = True
    for found in find(Path(given)):
        empty = False
        job = Job(found.path, None, found.member, found.read_member)
        yield Place(job.name, job.read)
    if empty:
        yield Place(given, None, "no compiled Python in it")


def _remote(address: str) -> Iterator[Place]:
    import fsspec

    files, root = fsspec.core.url_to_fs(address)
    if not files.exists(root):
        raise FileNotFoundError(2, "no such file or directory")
    single = files.isfile(root)
    names = [root] if single else sorted(files.find(root))
    with tempfile.TemporaryDirectory(prefix="pellucid_corpus_") as folder:
        empty = True
        for name in names:
            for place in _copied(files, str(name), Path(folder), single):
                empty = False
                yield place
        if empty:
            yield Place(address, None, "no compiled Python in it")


def _copied(files: Any, name: str, folder: Path, single: bool) -> Iterator[Place]:
    address = str(files.unstrip_protocol(name))
    # The name says nothing but its suffix: it may be too long for a file, or lead elsewhere.
    suffix = PurePosixPath(name.partition("?")[0]).suffix
    copy = folder / f"copy{suffix if suffix[1:].isalnum() and len(suffix) < 16 else ''}"
    try:
        files.get_file(name, str(copy))
        found = find(copy) if single else find_in_folder(copy, PurePosixPath(copy.name))
        for each in found:
            job = Job(each.path, None, each.member, each.read_member)
            yield Place(f"{address}/{each.member}" if each.member else address, job.read)
    except Exception as error:  # one object that cannot be read leaves the others
        yield Place(address, None, reason(error))
    finally:
        with contextlib.suppress(FileNotFoundError):
            copy.unlink()


def read(place: Place) -> Item:
    """Read a code file.

    Raises:
        OSError, DecompileError: it cannot be read.
    """
    assert place.read is not None
    data = place.read()
    return Item(hashlib.sha256(data).hexdigest(), place.origin, data)


def reason(error: BaseException) -> str:
    """Return why something cannot be read, in words."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)

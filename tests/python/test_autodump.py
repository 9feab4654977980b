"""`PELLUCID_DUMP`: what is different in a Python that has it, and in one that has not."""

import importlib.metadata
import os
import subprocess
import sys

import pytest
from pellucid import process
from pellucid.torch.trying import follow

SHOWS = """
import sys
print(sorted(m for m in sys.modules if m.startswith(("pellucid", "torch"))))
print([type(finder).__name__ for finder in sys.meta_path])
"""
FAKE = {  # what is there of torch, and how it fails
    "torch/__init__.py": "",
    "torch/_dynamo/__init__.py": "from . import inner\n",
    "torch/_dynamo/inner.py": "def fail():\n    raise ImportError('no compiler')\nfail()\n",
}


def python(arguments, folder, dump=None, progress=None):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PELLUCID_")}
    if dump is not None:
        env["PELLUCID_DUMP"] = str(dump)
    if progress is not None:
        env["PELLUCID_PROGRESS"] = progress
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(autouse=True)
def installed():
    """Skip where pellucid is found by its path alone."""
    try:
        files = importlib.metadata.files("pellucid") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    if not any(file.name == "pellucid.pth" for file in files):
        pytest.skip("pellucid is not installed, so Python does not read its .pth file")


def test_nothing_is_loaded_without_it(tmp_path):
    status, said, complaint = python(["-c", SHOWS], tmp_path)
    assert (status, complaint) == (0, "")
    modules, finders = said.splitlines()
    assert modules == "[]" and "_Finder" not in finders


def test_with_it_the_compiler_is_waited_for(tmp_path):
    status, said, complaint = python(["-c", SHOWS], tmp_path, tmp_path / "dump")
    assert (status, complaint) == (0, "")
    modules, finders = said.splitlines()
    assert "pellucid._autodump" in modules and "torch" not in modules
    assert finders.startswith("['_Finder'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value, waits", [("1", True), ("0", False)])
def test_progress_alone_waits_for_the_compiler_and_leaves_nothing(value, waits, tmp_path):
    status, said, complaint = python(["-c", SHOWS], tmp_path, progress=value)
    assert (status, complaint) == (0, "")
    assert ("_Finder" in said.splitlines()[1]) == waits
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("by_torch", [False, True])
@pytest.mark.parametrize("broken", [False, True])
def test_imports_fail_and_end_as_they_do_without_it(broken, by_torch, tmp_path):
    for name, text in FAKE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text if broken else text.replace("fail()\n", "fail\n"))
    if by_torch:  # itself, before it is done
        (tmp_path / "torch" / "__init__.py").write_text("import torch._dynamo\nDONE = 1\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import importlib.util, torch\n"
        "spec = importlib.util.find_spec('torch._dynamo')\n"
        "import torch._dynamo\n"
        "spec = torch._dynamo.__spec__\n"
        "print(type(spec), type(spec.loader), torch._dynamo.__loader__ is spec.loader)\n"
        "raise SystemExit(3)\n"
    )
    alone = python([program], tmp_path)
    dump = tmp_path / "a file"
    dump.write_text("")
    with_it = python([program], tmp_path, dump)
    assert alone[0] == (1 if broken else 3)
    if broken:
        assert with_it == alone
    else:  # this torch has nothing that a capture needs, which is said in one line
        assert with_it[:2] == alone[:2]
        assert with_it[2].count("\n") <= 1 and "Traceback" not in with_it[2]


def test_processes_that_follow_are_told_of_the_run(tmp_path):
    text = (
        "import os, subprocess, sys\n"
        "print(os.environ['PELLUCID_DUMP'], os.environ['PELLUCID_RUN'], flush=True)\n"
        "if sys.argv[1] == 'again':\n"
        "    os.execv(sys.executable, [sys.executable, __file__, 'start'])\n"
        "if sys.argv[1] == 'start':\n"
        "    env = {**os.environ, 'RANK': '1'}\n"
        "    subprocess.run([sys.executable, __file__, 'end'], check=True, cwd='/')\n"
        "    subprocess.run([sys.executable, __file__, 'end'], check=True, cwd='/', env=env)\n"
    )
    (tmp_path / "program.py").write_text(text)
    status, said, complaint = python(["program.py", "again"], tmp_path, "dump")
    assert (status, complaint) == (0, "")
    told = [line.split() for line in said.splitlines()]
    assert {directory for directory, _ in told} == {str(tmp_path / "dump")}
    runs = [run.split("/") for _, run in told]
    assert len(runs) == 4 and len({run for run, _, _ in runs}) == 1
    (_, _, first), (_, _, again), (_, _, child), (_, rank, ranked) = runs
    assert first == again == child != ranked and rank == "1"


@pytest.mark.parametrize(
    "given, options, command",
    [
        (["train.py", "-v"], [], ["train.py", "-v"]),
        (["-u", "-X", "dev", "-m", "job", "a"], ["-u", "-X", "dev"], ["-m", "job", "a"]),
        (["-um", "job"], ["-u"], ["-m", "job"]),
        (["-Wignore", "-Bs", "-c", "pass"], ["-Wignore", "-Bs"], []),
        (["-mjob"], [], []),
        ([], [], []),
    ],
)
def test_what_python_was_given_is_read_before_the_program_begins(
    given, options, command, monkeypatch
):
    monkeypatch.setattr(sys, "orig_argv", ["python", *given], raising=False)
    if command[:1] == ["train.py"]:
        command[0] = os.path.abspath("train.py")
    assert process.named_for_python() == (options, command)


@pytest.mark.parametrize(
    "given, takes_part",
    [
        (["train.py"], True),
        (["-m", "pytest"], True),
        (["-c", "from multiprocessing.spawn import …", "--multiprocessing-fork"], True),
        (["-c", "import torch"], False),
        (["/venv/torch/_inductor/compile_worker/__main__.py", "--workers=2"], False),
    ],
)
def test_the_compilers_own_processes_are_not_of_the_program(given, takes_part, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", *given], raising=False)
    assert follow.takes_part() == takes_part


def test_a_job_on_several_machines_is_not_said_to_have_been_started_here(monkeypatch):
    started = '{"command": ["-m", "torch.distributed.run", "a.py"], "folder": "/tmp"}'
    monkeypatch.setenv("PELLUCID_STARTED", started)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert process.launched() == (("-m", "torch.distributed.run", "a.py"), "/tmp")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert process.launched() == ((), "")

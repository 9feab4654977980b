# SPDX-License-Identifier: Apache-2.0
"""Python that has imported torch already: one process, forked for each program that a test runs.

Importing torch and its compilers takes four seconds of a processor, a fork of a process that has
done so a hundredth of that. `python(env)` is the path of a program with Python's command line. It
runs a script, a module or `-c` in a fork: with its own environment, folder and streams, with torch
not imported as far as `sys.modules` and importing tell, and with what `pellucid.pth` does first.
What a fork cannot have, options of Python and variables that are read once, gets a real Python.

Tests of how a process starts or ends, and of signals, take `sys.executable`.
"""

import atexit
import builtins
import fcntl
import gc
import hashlib
import importlib
import marshal
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from pellucid import _autodump
from warm_client import is_plain

_READ_ONCE = ("PYTHON", "TORCH", "OMP_", "MKL_", "GOMP_", "LC_", "LANG", "LD_")
_FREE = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "TORCHINDUCTOR_CACHE_DIR")


def _fixed(env):
    """The variables of an environment that have been read when torch is there."""
    return {k: v for k, v in env.items() if k.startswith(_READ_ONCE) and k not in _FREE}


# -- the process that is forked ------------------------------------------------------------------

_STAGES = (
    ("torch",),
    (
        "torch._dynamo",
        "torch._inductor.compile_fx",
        "torch._inductor.codegen.cpp",
        "pellucid.torch.api.automatic",
        "pellucid.torch.api.prepare",
        "pellucid.torch.commands",
    ),
)


class _Kept:
    """Modules that were imported and are imported again, which takes no time."""

    def __init__(self):
        self.stage = {}  # of each module that is not imported yet, its stage
        self.stages = []

    def import_stages(self):
        """Import all stages, then take them out of `sys.modules` and off their packages."""
        for names in _STAGES:
            before = set(sys.modules)
            for name in names:
                importlib.import_module(name)
            new = {n: m for n, m in sys.modules.items() if n not in before}
            self.stages.append({n: m for n, m in new.items() if n.partition(".")[0] == "torch"})
        for number, modules in enumerate(self.stages):
            for name, module in modules.items():
                self.stage[name] = number
                sys.modules.pop(name, None)
                package, _, leaf = name.rpartition(".")
                parent = self.stages[0].get(package)
                if number and parent is not None and vars(parent).get(leaf) is module:
                    delattr(parent, leaf)
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name not in self.stage:
            return None
        own = self.stages[self.stage[name]][name].__spec__
        spec = ModuleSpec(name, self, origin=getattr(own, "origin", None))
        spec.submodule_search_locations = getattr(own, "submodule_search_locations", None)
        spec.kept = own
        return spec

    def create_module(self, spec):
        return self.stages[self.stage[spec.name]][spec.name]

    def exec_module(self, module):
        if hasattr(module.__spec__, "kept"):  # a module of settings takes no other
            module.__spec__ = module.__spec__.kept
        stage = self.stages[self.stage.pop(module.__name__)]
        # What a package has imported is there with it; any other module comes alone.
        if module.__name__ in ("torch", "torch._dynamo"):
            for name in stage:
                self._put_back(name, stage[name])

    def _put_back(self, name, module):
        self.stage.pop(name, None)
        sys.modules.setdefault(name, module)
        package, _, leaf = name.rpartition(".")
        parent = self.stages[0].get(package)
        if parent is not None and leaf not in vars(parent):
            setattr(parent, leaf, module)


def serve(address):
    """Fork for each program that is asked for, until the process that started this one ends.

    Returns:
        The arguments of the program, in the process that is to run it, or None.
    """
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(16)
        _Kept().import_stages()
        gc.collect()
        gc.freeze()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while server in select.select([server, 0], [], [])[0]:
            client = server.accept()[0]
            if not os.fork():
                break
            client.close()
        else:
            return None
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return _begin(client)


def _begin(client):
    """Become what a program finds when it starts; return its arguments."""
    head, streams, _, _ = socket.recv_fds(client, 10, 3)
    order = b""
    while len(order) < int(head):
        order += client.recv(1 << 20)
    arguments, env, folder = marshal.loads(order)
    if _fixed(env) != _fixed(os.environ):
        client.sendall(b"real")
        os._exit(0)
    number = os.fork()
    if number:
        _wait_for(number, client, streams)
    client.close()
    for at, stream in enumerate(streams):
        os.dup2(stream, at)
        os.close(stream)
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    added = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = [*added, *(entry for entry in sys.path if entry and entry not in known)]
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    tempfile.tempdir = None  # it was read from the other environment
    return arguments


def _wait_for(number, client, streams):
    """Wait for the program, tell its status, and end."""
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(number)
    if client in select.select([client, ended], [], [])[0]:
        os.kill(number, signal.SIGKILL)  # who asked is gone
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    client.send(b"%d" % status)
    os._exit(0)


class _Again(BaseException):
    """The process becomes another Python."""


def _execv(path, arguments):
    if path != sys.executable or not is_plain(arguments[1:]):
        _EXEC(path, arguments)
    raise _Again(list(arguments[1:]))


_EXEC = os.execv


def program(arguments):
    """Run a script, a module or a text as Python does; raise what it raises."""
    random.seed()
    os.execv = _execv
    path = list(sys.path)
    while True:
        sys.path[:] = path
        if hasattr(sys, "orig_argv"):
            sys.orig_argv[1:] = arguments
        try:
            return _run(arguments)
        except _Again as other:
            arguments = other.args[0]
        except SystemExit:
            raise
        except BaseException as error:
            trace = error.__traceback__
            while trace and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
            sys.excepthook(type(error), error.with_traceback(trace), trace)
            sys.exit(1)


def _run(arguments):
    if os.environ.get("PELLUCID_DUMP") or os.environ.get("PELLUCID_PROGRESS"):
        _autodump.start()
    while arguments[0] == "-W":
        sys.warnoptions.append(arguments[1])
        warnings._processoptions(arguments[1:2])
        arguments = arguments[2:]
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__builtins__ = builtins
    sys.argv = list(arguments)
    if arguments[0] == "-m":
        del sys.argv[1]
        sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(arguments[1])
    elif arguments[0] == "-c":
        del sys.argv[1]
        sys.path.insert(0, "")
        exec(compile(arguments[1], "<string>", "exec", dont_inherit=True), vars(main))
    elif os.path.isdir(arguments[0]):
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        name = os.path.abspath(arguments[0])
        sys.path.insert(0, os.path.dirname(name))
        main.__file__, main.__cached__ = name, None
        main.__loader__ = SourceFileLoader("__main__", name)
        exec(compile(Path(name).read_bytes(), name, "exec", dont_inherit=True), vars(main))


# -- what tests call -----------------------------------------------------------------------------

_PROGRAM = """\
#!{real} -IS
import sys
import warnings
sys.path.insert(0, {here!r})
from warm_client import ask
ask({address!r}, {real!r}, sys.argv[1:])
"""
_SERVE = "import warm; asked = warm.serve({address!r}); asked is None or warm.program(asked)"
FOLDER = []
"""Where the processes that run tests side by side find one another's: set by a fixture."""


def python(env):
    """Return the path of a program that runs what a real Python would run.

    Args:
        env: the environment in which torch is imported, where no process has done that yet.
    """
    if not FOLDER or not (hasattr(socket, "send_fds") and hasattr(os, "pidfd_open")):
        return sys.executable
    name = hashlib.sha256(repr(sorted(_fixed(env).items())).encode()).hexdigest()[:12]
    folder = Path(FOLDER[0], f"warm_{name}")
    folder.mkdir(exist_ok=True)
    path = folder / "python"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _start(path, env)
    return str(path)


def _start(path, env):
    here, address = os.path.dirname(os.path.abspath(__file__)), str(path.with_name("socket"))
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE.format(address=address)],
        env={**env, "PYTHONPATH": os.pathsep.join([env.get("PYTHONPATH", ""), here])},
        cwd=path.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    process.stdout.readline()  # it can be asked now
    atexit.register(process.communicate)
    path.write_text(_PROGRAM.format(real=sys.executable, here=here, address=address))
    path.chmod(0o755)

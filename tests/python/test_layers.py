"""The rules that keep the layers apart, and the checker that holds them."""

import importlib
import importlib.util
import subprocess
import sys
import textwrap
from subprocess import PIPE, STDOUT

import check_layers
from needs import ROOT
from pellucid.torch.guards import checks


def test_no_include_or_import_crosses_the_layers() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_layers.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()


def test_importing_pellucid_imports_no_torch() -> None:
    probe = "import pellucid, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_the_version_and_the_help_load_nothing_that_a_command_needs() -> None:
    heavy = ["concurrent.futures", "json", "logging", "torch", "zipfile"]
    heavy += ["pellucid._core", "pellucid.batch"]
    probe = textwrap.dedent("""
        import sys
        before = set(sys.modules)
        from pellucid.__main__ import main
        try:
            main(sys.argv[1:2])
        except SystemExit:
            pass
        print([name for name in sys.argv[2:] if name in set(sys.modules) - before])
    """)
    for option in ("--version", "--help"):
        command = [sys.executable, "-c", probe, option, *heavy]
        done = subprocess.run(command, stdout=PIPE, encoding="utf-8", check=True)
        assert done.stdout.splitlines()[-1] == "[]"


def test_everything_but_what_talks_to_torch_can_be_imported_without_it() -> None:
    probe = textwrap.dedent("""
        import importlib, pkgutil, sys
        class NoTorch:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "torch":
                    raise ImportError("there is no torch here")
        sys.meta_path.insert(0, NoTorch())
        import pellucid
        allowed = set(sys.argv[1:])
        for module in pkgutil.walk_packages(pellucid.__path__, "pellucid."):
            if module.name != "pellucid.__main__" and module.name not in allowed:
                importlib.import_module(module.name)
        from pellucid import *
        from pellucid.torch import *
        assert callable(prepare_debug) and callable(find_nan)
    """)
    others = [] if importlib.util.find_spec("IPython") else ["pellucid.notebook.magic"]
    command = [sys.executable, "-c", probe, *check_layers.IMPORTS_TORCH, *others]
    done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()


def test_what_dumped_files_import_stays() -> None:
    import pellucid.dumped as now

    written = {name for name in vars(checks) if name.isupper() and name[0] != "_"}
    assert written <= set(now.__all__)
    for former in ("guard_checks", "siblings"):
        module = importlib.import_module(f"pellucid.torch.{former}")
        assert set(now.__all__) <= set(vars(module))

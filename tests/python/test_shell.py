"""git shows source; a terminal gets colours and a pager; shells complete; there is a man page."""

import os
import pty
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from case_pycs import unpack
from needs import need
from pellucid.__main__ import make_parser
from pellucid.shell import command

PLACE = Path(command.__file__).parent
PELLUCID = [sys.executable, "-m", "pellucid"]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    """The folder of the cases about loops, compiled by 3.12."""
    folder = tmp_path_factory.mktemp("cases")
    unpack("3.12", folder, "loops/*")
    return folder / "loops"


@pytest.fixture
def pyc(loops):
    return loops / "while_after_a_condition.pyc"


def run(*arguments, **options):
    return subprocess.run(
        [*PELLUCID, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        **options,
    )


def on_terminal(*arguments, **environment):
    """What a command prints when its standard output is a terminal."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PAGER", "LESS")}
    kept.update({"TERM": "xterm", "PELLUCID_PAGER": "", **environment})
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PELLUCID, *map(str, arguments)], stdout=theirs, stderr=theirs, stdin=theirs, env=kept
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n"), process.returncode


def test_terminal_gets_colours_and_the_same_characters(pyc):
    plain = run("decompile", pyc).stdout
    text, status = on_terminal("decompile", pyc)
    assert status == 0 and COLOUR.search(text)
    assert COLOUR.sub("", text) == plain
    assert not COLOUR.search(plain)


@pytest.mark.parametrize("off", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(pyc, off):
    text, _ = on_terminal("decompile", pyc, **off)
    assert text == run("decompile", pyc).stdout


def test_terminal_gets_the_pager_unless_it_is_not_wanted(pyc):
    pager = {"PELLUCID_PAGER": "sed 's/^/> /'", "NO_COLOR": "1"}
    plain = run("decompile", pyc).stdout
    text, status = on_terminal("decompile", pyc, **pager)
    assert status == 0 and text == "".join(f"> {line}\n" for line in plain.splitlines())
    assert on_terminal("--no-pager", "decompile", pyc, **pager) == (plain, 0)
    assert on_terminal("--version", **pager)[0].startswith("pellucid ")


@pytest.mark.parametrize(
    "given, wanted", [("", "-R "), ("-i", "-R -i"), ("iM", "-R iM"), ("-FRX", "-FRX"), ("r", "r")]
)
def test_less_is_asked_for_colours_whatever_its_options(pyc, given, wanted):
    pager = "sh -c 'echo \"($LESS)\"; cat > /dev/null'"
    text, _ = on_terminal("decompile", pyc, PELLUCID_PAGER=pager, LESS=given)
    assert text == f"({wanted})\n"


def test_messages_follow_the_pager_and_the_exit_code_is_kept(pyc):
    pager = {"PELLUCID_PAGER": "sed 's/^/> /'", "NO_COLOR": "1"}
    text, status = on_terminal("decompile", "nothing.pyc", pyc, **pager)
    *lines, last = text.splitlines()
    assert status == 1 and last == "pellucid: nothing.pyc: no such file or directory"
    assert len(lines) > 3 and all(line.startswith("> ") for line in lines)


def test_pager_that_ends_early_is_no_error(loops):
    text, status = on_terminal("dis", loops, PELLUCID_PAGER="head -n 1")
    assert text.count("\n") == 1 and "Traceback" not in text
    assert status == 0


def test_pager_that_is_not_there_is_none(pyc):
    plain = run("decompile", pyc).stdout
    for pager in ("no-such-pager -x", " "):
        assert on_terminal("decompile", pyc, PELLUCID_PAGER=pager, NO_COLOR="1") == (plain, 0)


def test_textconv_of_an_archive_escapes_names_and_survives_damage(pyc, tmp_path):
    file = tmp_path / "file"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a\nimport os\x1b[31m.pyc", pyc.read_bytes())
        archive.writestr("b.pyc", pyc.read_bytes() + bytes(range(256)) * 8)
    data = bytearray(file.read_bytes())
    at = data.index(b"b.pyc") + 40
    for place in range(at, at + 60):
        data[place] ^= 0x55
    file.write_bytes(data)
    done = run("textconv", file)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert lines[0] == "# a\\nimport os\\x1b[31m.pyc" and "# b.pyc" in lines
    assert any(line.startswith("# damaged in its archive") for line in lines)


def test_textconv_gives_source_without_the_name(pyc, tmp_path):
    copy = tmp_path / "whatever"
    shutil.copy(pyc, copy)
    done = run("textconv", copy)
    assert done.returncode == 0 and done.stderr == ""
    head, _, source = done.stdout.partition("\n")
    assert head == "# Python 3.12" and source == run("decompile", pyc, "--no-verify").stdout
    assert run("textconv", pyc).stdout == done.stdout


def test_textconv_of_other_bytes_differs_where_they_do(tmp_path):
    texts = []
    for content in (b"", b"one", b"two", b"\xcb\r\r\n" + bytes(40), b"PK\x03\x04" + bytes(60)):
        file = tmp_path / "file"
        file.write_bytes(content)
        done = run("textconv", file)
        assert done.returncode == 0 and done.stdout.startswith("# no source: "), done
        assert str(tmp_path) not in done.stdout
        texts.append(done.stdout)
    assert len(set(texts)) == len(texts)
    assert run("textconv", tmp_path / "none").returncode == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_shows_the_source(tmp_path):
    def git(*arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        )
        return done.stdout

    def compiled(value):
        code = f"import py_compile; py_compile.compile('m.py', 'm.pyc', doraise=True)  # {value}"
        (tmp_path / "m.py").write_text(f"def f(x):\n    return x + {value}\n")
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

    git("init", "-q")
    git("config", "diff.pyc.textconv", " ".join([*PELLUCID, "textconv"]))
    (tmp_path / ".gitattributes").write_text("*.pyc diff=pyc\n")
    compiled(1)
    git("add", "-A")
    git("commit", "-qm", "one")
    compiled(2)
    changed = [line for line in git("diff", "--", "m.pyc").split("\n") if line[:1] in ("+", "-")]
    assert changed[2:] == ["-    return x + 1", "+    return x + 2"]


def completed(*words):
    """What bash offers for the last of some words."""
    script = (
        f"COMP_WORDS=(pellucid {' '.join(repr(word) for word in words)}) COMP_CWORD={len(words)}\n"
        "complete_it=$(complete -p pellucid | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n"
        f"$complete_it pellucid {words[-1]!r} pellucid\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    text = run("completion", "bash").stdout + "\n" + script
    done = subprocess.run(["bash"], input=text, stdout=subprocess.PIPE, encoding="utf-8")
    return [word.strip() for word in done.stdout.split("\n") if word.strip()]


def test_bash_completes_commands_options_and_files(tmp_path):
    commands = list(make_parser()._subparsers._group_actions[0].choices)
    assert completed("") == commands
    assert completed("de") == ["decompile", "demo"]
    assert completed("decompile", "--keep") == ["--keep-lines"]
    assert completed("completion", "z") == ["zsh"]
    assert completed("dump", "--stage", "f") == ["flow"]
    assert completed("decompile", "--python-version", "3.1") == [f"3.1{n}" for n in range(6)]
    (tmp_path / "some.pyc").touch()
    assert completed("decompile", f"{tmp_path}/so") == [f"{tmp_path}/some.pyc"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(
    "way", ["source {}", 'eval "$(cat {})"', "fpath=({}.d $fpath); compinit -uD"]
)
def test_zsh_takes_the_completion_in_every_way(way, tmp_path):
    file = tmp_path / "completion"
    file.write_text(run("completion", "zsh").stdout)
    (tmp_path / "completion.d").mkdir()
    shutil.copy(file, tmp_path / "completion.d" / "_pellucid")
    script = f"autoload -Uz compinit; compinit -uD; {way.format(file)}; print -r $_comps[pellucid]"
    done = subprocess.run(
        ["zsh", "-f", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert done.stderr == "" and done.stdout.strip() in ("_shtab_pellucid", "_pellucid")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_tells_of_each_command_in_a_whole_line(shell):
    text = run("completion", shell).stdout
    for row in make_parser()._subparsers._group_actions[0]._choices_actions:
        assert re.search(rf"['\"]{re.escape(row.help)}['\"]", text), row.help


@pytest.mark.parametrize("shell", command.SHELLS)
def test_completion_of_each_shell_knows_every_option(shell):
    text = run("completion", shell).stdout
    for name, parser in make_parser()._subparsers._group_actions[0].choices.items():
        assert re.search(rf"\b{name}\b", text), name
        for action in parser._actions:
            for option in action.option_strings:
                if action.help != "==SUPPRESS==":
                    assert option.lstrip("-") in text, (name, option)


def test_manual_page_has_every_command():
    text = (PLACE / "pellucid.1").read_text(encoding="utf-8")
    for name in make_parser()._subparsers._group_actions[0].choices:
        assert f"pellucid {name}" in text.replace("\\-", "-"), name


def test_manual_page_has_usage_and_endings_line_by_line():
    text = (PLACE / "pellucid.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert "usage:" not in text
    for name, parser in make_parser()._subparsers._group_actions[0].choices.items():
        assert f".nf\npellucid {name} [" in text, name
        for line in (parser.epilog or "").splitlines():
            assert line.rstrip() in text, line
    assert "\n.SH ENVIRONMENT\n" in text and "NO_COLOR" in text


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="argparse of 3.11 words them")
def test_files_are_what_the_tool_writes():
    need("shtab")
    need("argparse_manpage")
    import gen_shell

    for name, text in gen_shell.texts().items():
        assert (PLACE / name).read_text(encoding="utf-8") == text, "run tools/gen_shell.py"

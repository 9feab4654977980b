"""`import pellucid as depyf`: programs written for depyf find its names, arguments and files."""

import functools
import os
import subprocess
import sys

import pellucid as depyf
import pytest
from support import compiles, run_env, warm_python


def scale(a, b=2):
    return a * b


class Scale:
    def __call__(self, a):
        return scale(a)


@pytest.mark.parametrize(
    "callable_, head",
    [
        (scale, "def scale(a, b=2):"),
        (scale.__code__, "def scale(a, b):"),
        (functools.partial(scale, 1), "def scale(a, b"),
        (functools.lru_cache(None)(scale), "def scale(a, b"),
        (Scale(), "def __call__(self, a):"),
        (Scale().__call__, "def __call__(self, a):"),
    ],
)
def test_decompile_takes_what_depyf_takes(callable_, head):
    assert depyf.decompile(callable_).startswith(head)


def test_the_decompiler_takes_a_name_and_an_indentation():
    source = depyf.Decompiler(scale).decompile(
        indentation=2, temp_prefix="t", overwite_fn_name="renamed"
    )
    assert source == "def renamed(a, b):\n  return a * b\n"


def odd(length):
    print((len("1"), "2", "3"), length)


def halved(length):
    return scale(length, 0.5)


class Counted:
    def __init__(self):
        self.count = 0

    def __len__(self):
        self.count += 1
        return 7


def test_decompile_and_compile_like_writes_a_file_and_keeps_constants(tmp_path, capsys):
    counted = Counted()
    constants = {"1": counted, "2": dict, "3": sys}
    code = odd.__code__.replace(
        co_consts=tuple(constants.get(c, c) for c in odd.__code__.co_consts)
    )
    template = str(tmp_path / "__transformed_code_%s_for_odd.py")

    def compile_like(changed):
        return depyf.Decompiler.decompile_and_compile_like(
            code_to_decompile=changed, reference_code=odd.__code__, filepath_template=template
        )

    made = compile_like(code)
    assert made.co_filename == template % 0
    assert made.co_name == "__transformed_code_0_for_odd"
    odd_again = type(odd)(made, globals())
    odd_again("long")
    assert capsys.readouterr().out == f"(7, {dict}, {sys}) long\n"
    assert counted.count == 1

    assert compile_like(code).co_filename == template % 0, "the same source needs no second file"
    assert compile_like(halved.__code__).co_filename == template % 1
    assert [compiles(path) for path in sorted(tmp_path.iterdir())] == ["", ""]


def test_decompile_and_compile_like_keeps_cells_and_refuses_another_interface(tmp_path):
    count = 0

    def up(by):
        nonlocal count
        count += by
        return count

    template = str(tmp_path / "up_%s.py")
    compile_like = depyf.Decompiler.decompile_and_compile_like
    made = compile_like(up.__code__, up.__code__, filepath_template=template)
    assert type(up)(made, {}, "up", None, up.__closure__)(5) == count == 5
    assert [compiles(path) for path in tmp_path.iterdir()] == [""]
    from pellucid.decompiler import DecompilationError

    named_by = (lambda by: by).__code__.replace(co_name="by")
    with pytest.raises(DecompilationError, match=r"^co_freevars of by is not that of by$"):
        compile_like(up.__code__.replace(co_name="up"), named_by)
    assert compile_like(scale.__code__, scale.__code__).co_filename == "noname"


def test_helpers():
    from pellucid import utils

    assert utils.get_code_owner(functools.partial(Scale().__call__, 1)) is Scale.__call__
    assert utils.get_code_owner(Scale()) is Scale.__call__
    assert "return a * b" in utils.decompile_ensure(scale.__code__, overwite_fn_name="f")
    # No version has this opcode. (From 3.12 on the last ones are the interpreter's own, and a code
    # object that has them crashes 3.14 as soon as it is asked for `co_code`.)
    broken = scale.__code__.replace(co_code=b"\xe6\xff")
    text = utils.decompile_ensure(broken)
    assert "def scale(a, b):\n" in text and "\n    raise NotImplementedError('pellucid: " in text
    assert {*depyf.Decompiler.supported_opnames()} >= {"LOAD_CONST", "RETURN_VALUE"}


def test_names_and_table(torch, dynamo, program, tmp_path):
    import pellucid.explain.enable_debugging as enable
    import pellucid.explain.enhance_logging as enhance

    data = depyf.explain.global_variables.data
    assert enable.prepare_debug is depyf.prepare_debug and enable.debug is depyf.debug
    assert enhance.install is depyf.install and enhance.uninstall is depyf.uninstall
    assert depyf.optimization.TorchCompileWrapperWithCustomDispatcher
    assert data["is_inside_prepare_debug"] is False
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    with depyf.prepare_debug(str(outer), clean_wild_fx_code=False, log_bytecode=True):
        torch.compile(program("several").plain, backend="eager")(torch.zeros(2))
        assert (data["dump_src_dir"], data["is_inside_prepare_debug"]) == (str(outer), True)
        with depyf.prepare_debug(dump_src_dir=str(inner)):
            assert data["dump_src_dir"] == str(inner)
            torch.compile(program("several").sized, backend="eager")(torch.zeros(2))
        assert (data["dump_src_dir"], data["is_inside_prepare_debug"]) == (str(outer), True)
    assert (data["dump_src_dir"], data["is_inside_prepare_debug"]) == (str(outer), False)
    prefixes = ("full_code_for_", "__transformed_code_", "__compiled_fn_")
    for prefix in prefixes:
        assert [path for path in outer.iterdir() if path.name.startswith(prefix)], prefix


PROGRAM = """
import sys
import torch
import pellucid as depyf

@torch.compile(backend="eager")
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b

def main():
    for _ in range(3):
        toy_example(torch.randn(10), torch.randn(10))

with depyf.prepare_debug("./dump"):
    main()
with depyf.debug():
    main()
print("done")
"""


def test_debug_reads_answers_that_are_waiting(torch, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "answers.txt").write_text("p 'an answer'\nc\n")
    for answers in ("answers.txt", os.devnull):
        with open(tmp_path / answers) as stdin:
            done = subprocess.run(
                [warm_python(), "program.py"],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=str(tmp_path),
                env=run_env(),
                timeout=300,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        asked = answers == "answers.txt"
        assert ("'an answer'" in done.stdout) == asked
        assert (f"> {tmp_path / 'program.py'}" in done.stdout) == asked
        assert done.stdout.endswith("done\n")


def test_fix_irregular_code_makes_a_function_with_the_names_of_another():
    def outer(free):
        def original(a, *, b=1):
            cell = a
            local = b
            return lambda: (cell, free, local)

        return original

    old = outer(1).__code__
    text = depyf.code_transform.fix_irregular_code(old, "def original(a, *, b):\n    return a\n")
    found = depyf.utils.collect_all_code_objects(compile(text, "x", "exec"))
    (made,) = [code for code in found if code.co_name == "original"]
    assert {*old.co_varnames} <= {*made.co_varnames}
    assert {*old.co_cellvars} <= {*made.co_cellvars}
    plain = "def scale(a, b):\n    return a * b\n"
    assert depyf.code_transform.fix_irregular_code(scale.__code__, plain) == plain
    assert (
        depyf.code_transform.remove_indentation(depyf.code_transform.add_indentation(plain, 2), 2)
        == plain
    )


def test_the_head_of_a_function_is_told():
    def several(a, *rest, b, **more):
        pass

    assert depyf.utils.get_function_signature(several.__code__, "f") == (
        "def f(a, b, *rest, **more):\n"
    )

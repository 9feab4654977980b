"""`import depyf`, installed in depyf's place: pellucid's own modules, and every name of depyf's."""

import ast
import dis
import importlib
import importlib.util
import inspect
import sys

import pytest
from needs import ROOT

DROP_IN = ROOT / "python" / "drop_in"

# What depyf 0.20.0 offers, module by module. Of its decompiler's class this has what is called from
# outside: the rest is a method for each instruction, and what these pass to each other.
SURFACE = {
    "": """
        Decompiler(code)
        debug()
        decompile(code)
        install()
        prepare_debug(dump_src_dir, clean_wild_fx_code=True, log_bytecode=False)
        torch_version
        uninstall()
        valid
    """,
    "code_transform": """
        ExceptionTableEntry(start, end, target, depth, lasti)
        IdentifierReplacer()
        IdentifierReplacer.visit_FunctionDef(self, node)
        Instruction(opcode, opname, arg, argval, argrepr, offset=None, starts_line=None,\
 is_jump_target=False)
        Instruction.get_jump_target(self)
        Instruction.is_jump(self)
        Instruction.short_inst_repr(self)
        RemoveAssignment2Transformer(temp_name, temp_occurrences)
        RemoveAssignmentTransformer(temp_name, temp_occurrences)
        add_indentation(code, indentation=4)
        check_exception_table(tab)
        convert_instruction(i)
        decode_exception_table_varint(bytes_iter)
        fix_irregular_code(old_bytecode, src_code, add_local_variables=None, add_cellvars=None)
        get_parents(node)
        lowest_common_parent(node1, node2)
        nop_instruction(inst)
        nop_unreachable_bytecode(code, instructions)
        parse_exception_table(exntab)
        prepare_freevars_for_compile(old_bytecode, src_code, add_local_variables=None)
        propagate_line_nums(instructions)
        py311
        remove_indentation(code, indentation=4)
        remove_some_temp(source_code, temp_prefix, indentation=4)
        set_parents(node, parent=None)
        simplify_finally_statement(instructions)
    """,
    "decompiler": """
        DecompilationError(message='')
        Decompiler(code)
        Decompiler.decompile(self, indentation=4, temp_prefix='__temp_', overwite_fn_name=None)
        Decompiler.decompile_and_compile_like(code_to_decompile, reference_code, indentation=4,\
 temp_prefix='__temp_', filepath_template=None)
        Decompiler.supported_opnames()
        DecompilerState(source_code, stack, inside_loop=False, loop_start_index=-1,\
 loop_end_index=-1)
        decompile(code)
    """,
    "explain": """
        DynamoOptimizationResult(original_code, function_name=None, module=None)
        dump_src(original_code, module)
        enable_debugging
        enhance_logging
        global_variables
        utils
    """,
    "explain.enable_debugging": """
        DebuggableHook(dump_src_dir, log_bytecode)
        debug()
        enable_bytecode_hook(hook)
        patch(parent, name, value)
        patched__exec_with_source(src, globals, co_fields=None)
        patched_boxed_run(self, args_list)
        patched_lazy_format_graph_code(name, gm, maybe_id=None, **kwargs)
        patched_load_by_key_path(key, path, linemap=None, attrs=None)
        prepare_debug(dump_src_dir, clean_wild_fx_code=True, log_bytecode=False)
    """,
    "explain.enhance_logging": """
        DecompilationError(message='')
        decompile(code)
        install()
        pytorch_bytecode_src_hook(code, new_code)
        uninstall()
    """,
    "explain.global_variables": "data",
    "explain.patched___call__": "patched___call__(self, code, check_fn)",
    "explain.patched__exec_with_source": """
        patched__exec_with_source(src, globals, co_fields=None)
    """,
    "explain.patched_boxed_run": "patched_boxed_run(self, args_list)",
    "explain.patched_lazy_format_graph_code": """
        patched_lazy_format_graph_code(name, gm, maybe_id=None, **kwargs)
    """,
    "explain.patched_load_by_key_path": """
        patched_load_by_key_path(key, path, linemap=None, attrs=None)
    """,
    "explain.utils": """
        CacheResult(original_code, module, cache)
        CacheResult.to_data(self)
        CodeProxy(code)
        CodeProxy.consume_new_name(name)
        CodeProxy.decompile_with_name(code, name, skip_decompile=False)
        CodeProxy.get_new_name(name)
        CodeProxy.instances
        CodeProxy.record()
        CodeProxy.used_instances
        DynamoOptimizationResult(original_code, function_name=None, module=None)
        DynamoOptimizationResult.to_data(self)
        DynamoOptimizationResult.to_src(self)
        append_guard_code(guard, ans)
        get_current_compiled_fn_name()
        lock_on_file(path_template)
        remove_indentation(code)
        write_code_to_file_template(src, path_template)
    """,
    "optimization": """
        TorchCompileWrapperWithCustomDispatcher(compiled_callable, use_custom_dispatcher=True)
        TorchCompileWrapperWithCustomDispatcher.bytecode_hook(self, old_code, new_code)
        TorchCompileWrapperWithCustomDispatcher.dispatch_to_code(self, index)
        TorchCompileWrapperWithCustomDispatcher.forward(self, *args, **kwargs)
    """,
    "utils": """
        collect_all_code_objects(code)
        decompile_ensure(fn, overwite_fn_name=None)
        get_code_owner(fn)
        get_function_signature(code_obj, overwite_fn_name=None)
        safe_create_directory(path)
    """,
}


@pytest.fixture
def depyf(torch, monkeypatch):
    """pellucid's `depyf`, also if the real one is installed here."""

    def forget():
        for name in [name for name in sys.modules if name.partition(".")[0] == "depyf"]:
            del sys.modules[name]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.syspath_prepend(str(DROP_IN))
    forget()
    yield importlib.import_module("depyf")
    forget()


def takes(value, parameters):
    """Whether a callable takes the recorded arguments, by name too; it may take more."""

    def shape(signature):
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    wanted = shape(inspect.signature(eval(f"lambda {parameters}: 0")))
    ours = shape(inspect.signature(value))
    needed = [row for row in ours[len(wanted) :] if row[2] is inspect.Parameter.empty]
    return ours[: len(wanted)] == wanted and not needed


@pytest.mark.parametrize("module", SURFACE)
def test_every_name_of_depyf_is_there_with_its_arguments(depyf, module):
    found = importlib.import_module(f"depyf.{module}" if module else "depyf")
    wrong = []
    for line in filter(None, map(str.strip, SURFACE[module].splitlines())):
        path, _, parameters = line.partition("(")
        if module == "explain" and not parameters and path != "global_variables":
            importlib.import_module(f"depyf.explain.{path}")
        value = found
        for name in path.split("."):
            value = getattr(value, name, wrong)
        if value is wrong or (parameters and not takes(value, parameters[:-1])):
            wrong.append(line)
    assert wrong == []


@pytest.mark.parametrize("module", [name for name in SURFACE if name])
def test_its_modules_are_those_of_pellucid(depyf, module):
    ours = "explain.patched" if module.startswith("explain.patched_") else module
    theirs = importlib.import_module(f"depyf.{module}")
    assert theirs is importlib.import_module(f"pellucid.{ours}")
    assert sys.modules[f"depyf.{module}"] is theirs
    assert theirs.__spec__.name == theirs.__name__ == f"pellucid.{ours}"


def test_what_it_says_of_itself(depyf, torch):
    import pellucid

    assert depyf.__version__.startswith("0.20.0+") and depyf.valid is True
    assert f'version = "{depyf.__version__}"' in (DROP_IN / "pyproject.toml").read_text()
    assert depyf.torch_version == torch.__version__
    assert depyf.decompile(code=broken) == pellucid.decompile(broken)
    assert depyf.Decompiler is pellucid.Decompiler
    assert importlib.util.find_spec("depyf.no_such_module") is None
    assert importlib.util.find_spec("depyf.explain.no_such_module") is None
    with pytest.raises(ImportError):
        importlib.import_module("depyf.explain.no_such_module")
    names = {}
    exec("from depyf import *", names)
    assert {"decompile", "prepare_debug", "debug", "install", "uninstall"} <= {*names}
    assert {*names} <= {*dir(depyf), "__builtins__"}


def broken(x, y=2):
    z = x * y
    print("a graph break")
    return z + 1


def test_dump_src_shows_guards_and_resumed_functions(depyf, torch, dynamo):
    compiled = torch.compile(broken, backend="eager")
    compiled(torch.ones(2))
    compiled(torch.ones(2), 3.5)
    scope = broken.__globals__
    text = depyf.explain.dump_src(broken.__code__, scope)
    compile(text, "dump_src", "exec")
    defined = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert "broken" in defined and len([n for n in defined if n.startswith("guards_")]) == 3
    (resumed,) = [name for name in defined if name.startswith("torch_dynamo_resume_in_broken")]
    assert (
        f"\n__resume_at_{text.partition('__resume_at_')[2].partition('(')[0]} = {resumed}" in text
    )
    result = depyf.explain.DynamoOptimizationResult(broken.__code__, None, scope)
    first = result.to_data()["transformed_code_entries"][-1]
    assert any("L['x']" in guard for guard in first["guard"])
    assert first["compiled_subgraph"].startswith("__compiled_fn_")
    assert [*first["referenced_global_functions"]]


def test_the_hook_makes_a_frame_run_from_a_file(depyf, torch, dynamo, tmp_path):
    from depyf.explain.enable_debugging import DebuggableHook, enable_bytecode_hook

    def scale(x):
        return x * 2 + 1

    hook = DebuggableHook(str(tmp_path), False)
    with enable_bytecode_hook(hook):
        out = torch.compile(scale, backend="eager")(torch.ones(2))
    assert out.tolist() == [3, 3]
    ((code, scope),) = hook.optimized_code_and_module
    assert code is scale.__code__ and scope is globals()
    (file,) = tmp_path.iterdir()
    assert file.name == "__transformed_code_0_for_scale.py"
    (version,) = depyf.explain.DynamoOptimizationResult(code, None, scope).transformed_code_entries
    assert version.transformed_code.co_filename == str(file)


def test_what_replaces_functions_of_torch_does_what_they_do(depyf, torch, dynamo, tmp_path):
    from depyf.explain import enable_debugging as enable

    cache = importlib.import_module("torch._inductor.codecache").PyCodeCache
    utils = importlib.import_module("torch._dynamo.utils")
    (tmp_path / "kernel.py").write_text("answer = 42\n")
    graph = torch.fx.symbolic_trace(lambda x: x + 1)
    load, formatting = enable.patched_load_by_key_path, enable.patched_lazy_format_graph_code
    with enable.patch(cache, "load_by_key_path", load), enable.patch(cache, "no_such", load):
        assert cache.load_by_key_path("key", str(tmp_path / "kernel.py")).answer == 42
    format_graph = utils.lazy_format_graph_code
    before = format_graph.__code__
    with depyf.prepare_debug(str(tmp_path / "dump")):
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
        with enable.patch(format_graph, "__code__", formatting.__code__):
            assert "x + 1" in str(format_graph("my stage", graph))
    assert format_graph.__code__ is before
    assert [path for path in (tmp_path / "dump").iterdir() if "my_stage" in path.name]
    interpreter = torch.fx.Interpreter(graph)
    arguments = [torch.ones(1)]
    assert enable.patched_boxed_run(interpreter, arguments).item() == 2 and arguments == []
    names = {}
    enable.patched__exec_with_source("def forward(x): return x + 1", names)
    assert names["forward"](1) == 2


def test_files_are_numbered_and_not_doubled(depyf, tmp_path):
    from depyf.explain.utils import lock_on_file, write_code_to_file_template

    template = str(tmp_path / "file_%s.py")
    with lock_on_file(template):
        paths = [write_code_to_file_template(text, template) for text in ("a", "b", "a")]
    assert paths == [template % 0, template % 1, template % 0]


def test_instructions_that_cannot_be_reached_become_nops(depyf):
    from depyf import code_transform as transform

    def guarded(a):
        try:
            while a:
                a -= 1
        finally:
            print(a)
        return a

    code = guarded.__code__
    if sys.version_info >= (3, 11):
        table = [
            (entry.start, entry.end, entry.target, entry.depth, entry.lasti)
            for entry in transform.parse_exception_table(code.co_exceptiontable)
        ]
        entries = dis._parse_exception_table(code)
        theirs = [(e.start, e.end - 2, e.target, e.depth, e.lasti) for e in entries]
        assert table == theirs and table
    made = [transform.convert_instruction(i) for i in dis.get_instructions(code)]
    before = [inst.opname for inst in made]
    transform.propagate_line_nums(made)
    transform.nop_unreachable_bytecode(code, made)
    assert [inst.opname for inst in made] == before, "a compiler leaves out what is not reached"
    jump = next(inst for inst in made if inst.is_jump())
    assert jump.get_jump_target() in [inst.offset for inst in made]
    first = next(n for n, inst in enumerate(made) if inst.opname.startswith("RETURN_"))
    dead = transform.Instruction(dis.opmap["POP_TOP"], "POP_TOP", 0, 0, "", 10_000)
    made.append(dead)
    del made[first + 1 : -1]
    transform.nop_unreachable_bytecode(code, made)
    assert dead.opname == "NOP" and made[first].opname == before[first]


def test_nodes_of_a_tree_know_those_above_them(depyf):
    from depyf import code_transform as transform

    tree = ast.parse("def f():\n    if a:\n        b = 1\n    else:\n        c = 2\n")
    transform.set_parents(tree)
    first, second = (n for n in ast.walk(tree) if isinstance(n, ast.Assign))
    assert transform.get_parents(first)[-1] is tree
    common, one, other = transform.lowest_common_parent(first, second)
    assert isinstance(common, ast.If) and (one, other) == (first, second)
    assert transform.IdentifierReplacer().visit(tree).body[0].name == "PLACEHOLDER"

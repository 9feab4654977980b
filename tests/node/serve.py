"""What CPython 3.14 does for the tests, as a process: one JSON line in, one JSON line out.

    {"do": "compile", "source": TEXT, "filename": NAME, "optimize": N}  ->  {"code": HEX of a marshal}
    {"do": "parse", "source": TEXT}                                     ->  {"tree": ast.dump}
    {"do": "judge", "judge": PATH, "code": HEX, "source": TEXT}         ->  the judge's answer

What goes wrong is {"error": TEXT}.
"""

import ast
import importlib.util
import json
import marshal
import sys
import warnings


def compile_source(request):
    """Return the marshalled code of a module."""
    source = request["source"].encode("utf-8", "surrogatepass")
    name = request.get("filename", "<pellucid>")
    optimize = request.get("optimize", 0)
    code = compile(source, name, "exec", dont_inherit=True, optimize=optimize)
    return {"code": marshal.dumps(code).hex()}


def parse(request):
    """Return the syntax tree of a module as text."""
    return {"tree": ast.dump(ast.parse(request["source"]))}


def judge(request):
    """Return what the judge at `judge` says of a code object and the source of another one."""
    if "judge" not in sys.modules:
        spec = importlib.util.spec_from_file_location("judge", request["judge"])
        module = importlib.util.module_from_spec(spec)
        sys.modules["judge"] = module
        spec.loader.exec_module(module)
    code = marshal.loads(bytes.fromhex(request["code"]))
    return sys.modules["judge"].judge_source(code, request["source"])


DO = {"compile": compile_source, "parse": parse, "judge": judge}


def answer(line):
    """Do what one line asks for."""
    request = json.loads(line)
    try:
        return DO[request["do"]](request)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)


main()

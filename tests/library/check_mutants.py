# SPDX-License-Identifier: Apache-2.0
"""Hold verify::compare to the independent judge: no false proof, and few missing ones.

Run it with the interpreter whose bytecode is compared (3.8 and later, standard library only):

    python3.11 tests/library/check_mutants.py --shared ../shared

The mutations, and the judge that tells them apart, are no part of the repository: `--shared` names
a folder that has them in `judge` (`mutate.py`, `judge.py`). Without it `--only C` runs alone.

Part A changes functions of the standard library so that they mean something else (mutate.py). What
the judge tells apart must be `unproven`, with `extra_locals` too, unless all that is new is a local
that nothing reads (`except E as zz`): those are counted apart. Part B keeps the meaning: at least
99 % must be `identical` or `equivalent`. Variants whose variables have another order, which
`locals()` shows, are no such ones, and must not be proven. Part C compares the standard library
with itself, quickly and thoroughly, and with what ast.unparse prints of it. The exit code is 0
if all hold.

With --relowered the mutants are decompiled first and their trees are lowered again: the second tier
of validation has to tell them apart as well as the first. (Part C is of the first tier.)
"""

import argparse
import ast
import contextlib
import copy
import json
import marshal
import os
import random
import subprocess
import sys
import warnings
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROVEN = ("identical", "equivalent")


class Pairs:
    """The native comparison as a process that answers line by line."""

    def __init__(self, binary, relowered=False):
        self.always = "relowered," if relowered else ""
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def compare(self, a, b, options=""):
        """Return the answer for two code objects of the running interpreter."""
        request = {
            "version": "%d.%d" % sys.version_info[:2],
            "options": self.always + options,
            "a": marshal.dumps(a).hex(),
            "b": marshal.dumps(b).hex(),
        }
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the comparison died on a pair")
        return json.loads(line.decode())


def first_reason(answer):
    """Return path, reason and offsets of the first code object that was not proven."""
    for code in answer.get("codes", ()):
        if code["verdict"] == "unproven":
            return "%s: %s (bytes %d / %d)" % (code["path"], code["reason"], code["a"], code["b"])
    return answer.get("reason", "")


def is_new_local(answer):
    """Tell whether all that was held against the pair are locals that only the mutant has."""
    reasons = [c["reason"] for c in answer["codes"] if c["verdict"] == "unproven"]
    return all(r.startswith("the local ") and r.endswith(" is new") for r in reasons)


def has_other_order(a, b):
    """Tell whether the variables of two code objects, or of nested ones, differ in their order."""

    def slots(code):
        return code.co_varnames + code.co_cellvars + code.co_freevars

    def inside(code):
        return [const for const in code.co_consts if hasattr(const, "co_code")]

    shared = set(slots(a)) & set(slots(b))
    kept = [[name for name in slots(code) if name in shared] for code in (a, b)]
    return kept[0] != kept[1] or any(map(has_other_order, inside(a), inside(b)))


def check_mutants(args, pairs, mutate, judge):
    """Parts A and B; return whether they hold."""
    rng = random.Random(args.seed)
    functions = mutate.functions_of(args.lib, rng, args.functions)
    differ = Counter()
    false_proofs, temporaries = [], []
    stricter = 0
    kept, proven, missing = Counter(), Counter(), []
    reordered = 0
    for path, function in functions:
        module = ast.Module(body=[function], type_ignores=[])
        try:
            base = mutate.compile_fn(copy.deepcopy(module))
        except (SyntaxError, ValueError):
            continue
        key = mutate.raw_key(base)
        points = list(range(len(mutate.mutations(copy.deepcopy(function)))))
        if len(points) > args.per_function:
            points = sorted(rng.sample(points, args.per_function))
        for point in points:
            mutant_tree = copy.deepcopy(module)
            kind, change = mutate.mutations(mutant_tree.body[0])[point]
            try:
                change()
                mutant = mutate.compile_fn(mutant_tree)
            except (SyntaxError, ValueError, TypeError, AttributeError):
                continue
            if mutate.raw_key(mutant) == key:
                continue
            told_apart = judge.judge_tree(base, mutant)["verdict"] == "differs"
            differ[kind] += told_apart
            answer = pairs.compare(base, mutant)
            if not told_apart:
                stricter += answer["verdict"] not in PROVEN
                continue
            relaxed = pairs.compare(base, mutant, "extra_locals")
            if answer["verdict"] in PROVEN or relaxed["verdict"] in PROVEN:
                proof = {
                    "file": path,
                    "function": function.name,
                    "kind": kind,
                    "point": point,
                    "strict": answer["verdict"],
                    "extra_locals": relaxed["verdict"],
                    "original": mutate.unparse(module),
                    "mutant": mutate.unparse(mutant_tree),
                }
                temporary = answer["verdict"] not in PROVEN and is_new_local(answer)
                (temporaries if temporary else false_proofs).append(proof)
        for kind in mutate.KEEP:
            tree = copy.deepcopy(module)
            if kind == "unparse":
                if not hasattr(ast, "unparse"):
                    continue
                tree, hits = ast.parse(ast.unparse(tree)), 1
            else:
                keep = mutate.Keep(kind)
                tree = keep.visit(tree)
                hits = keep.hits
            if not hits:
                continue
            try:
                other = mutate.compile_fn(tree)
            except SyntaxError:
                continue
            answer = pairs.compare(base, other)
            if has_other_order(base, other):
                reordered += 1
                if answer["verdict"] in PROVEN:
                    false_proofs.append({"file": path, "function": function.name, "kind": kind})
                continue
            kept[kind] += 1
            if answer["verdict"] in PROVEN:
                proven[kind] += 1
            else:
                missing.append(
                    {
                        "file": path,
                        "function": function.name,
                        "kind": kind,
                        "reason": first_reason(answer),
                    }
                )
    total, ok = sum(kept.values()), sum(proven.values())
    share = 100.0 * ok / max(total, 1)
    print(
        "A: %d mutants that the judge tells apart, %d false proofs; %d that it does not and we do"
        % (sum(differ.values()), len(false_proofs), stricter)
    )
    print(
        "   differing in a local that nothing reads, if extra_locals allows it: %d"
        % len(temporaries)
    )
    print("   false proofs by kind:", dict(Counter(f["kind"] for f in false_proofs)))
    print("B: %d meaning-keeping variants, %d proven = %.2f %%" % (total, ok, share))
    print("   beside them, with another order of variables, none of them proven: %d" % reordered)
    print("   by kind:", {k: "%d/%d" % (proven[k], kept[k]) for k in mutate.KEEP if kept[k]})
    for miss in missing[:10]:
        print("   not proven:", miss)
    if args.list:
        with open(args.list, "w") as out:
            json.dump(
                {"false_proofs": false_proofs, "temporaries": temporaries, "missing": missing},
                out,
                indent=1,
            )
    return not false_proofs and share >= 99.0


def modules_of(lib, limit):
    """Yield the path, tree and code of modules of a library."""
    files = []
    for folder, folders, names in os.walk(lib):
        folders[:] = sorted(
            f
            for f in folders
            if f
            not in (
                "test",
                "tests",
                "idlelib",
                "lib2to3",
                "__pycache__",
                "site-packages",
                "turtledemo",
            )
        )
        files += [os.path.join(folder, n) for n in sorted(names) if n.endswith(".py")]
    random.Random(1).shuffle(files)
    for path in files[:limit] if limit else files:
        try:
            with open(path, "rb") as source:
                tree = ast.parse(source.read())
            yield path, tree, compile(tree, path, "exec", 0, True, 0)
        except (SyntaxError, ValueError):
            continue


def check_library(args, pairs):
    """Part C; return whether it holds."""
    codes, status, bad = 0, Counter(), []
    for path, tree, code in modules_of(args.lib, args.modules):
        name = os.path.relpath(path, args.lib)
        jobs = [("self", code, ""), ("walk", code, "thorough")]
        if hasattr(ast, "unparse"):
            with contextlib.suppress(SyntaxError, ValueError, RecursionError):
                jobs.append(("unparse", compile(ast.unparse(tree), path, "exec", 0, True, 0), ""))
        for job, other, options in jobs:
            answer = pairs.compare(code, other, options)
            codes += len(answer.get("codes", ()))
            status[job, answer["verdict"]] += 1
            good = ("identical",) if job == "self" else PROVEN
            if answer["verdict"] not in good:
                bad.append("%s %s: %s" % (job, name, first_reason(answer)))
    print(
        "C: %d code objects compared:" % codes,
        ", ".join("%s %s %d" % (j, v, n) for (j, v), n in sorted(status.items())),
    )
    for line in bad[:20]:
        print("   ", line)
    return not bad


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--binary", default=os.path.join(ROOT, "build", "make", "pellucid_verify_pairs")
    )
    parser.add_argument(
        "--shared",
        default=os.environ.get("PELLUCID_SHARED", os.path.join(os.path.dirname(ROOT), "shared")),
    )
    parser.add_argument("--functions", type=int, default=200)
    parser.add_argument("--per-function", type=int, default=60)
    parser.add_argument("--modules", type=int, default=0, help="of part C; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lib", default=os.path.dirname(os.__file__))
    parser.add_argument("--list", help="write every false proof and every miss to this file")
    parser.add_argument("--relowered", action="store_true", help="decompile the mutants first")
    parser.add_argument("--only", default="ABC", help="parts to run: AB, C or ABC")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(5000)
    pairs = Pairs(args.binary, args.relowered)
    good = True
    print("Python %d.%d" % sys.version_info[:2])
    if "A" in args.only:
        sys.path.insert(0, os.path.join(args.shared, "judge"))
        import judge
        import mutate

        good = check_mutants(args, pairs, mutate, judge) and good
    if "C" in args.only and not args.relowered:
        good = check_library(args, pairs) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

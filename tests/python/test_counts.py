"""What findings cost, how many breaks and recompiles there are, and which lines are compiled."""

import dataclasses

from made_captures import FILE, KEY, broken, capture, frame
from pellucid.dump.model.breaks import break_of
from pellucid.dump.model.events import (
    CompileKey,
    Graph,
    Place,
    Recompile,
    Skipped,
    Started,
    Times,
)
from pellucid.dump.model.failures import failures_of
from pellucid.dump.model.nodes import Node
from pellucid.findings import count_line, find, find_all
from pellucid.findings.counts import counts_of, versions_of
from pellucid.findings.lines import compiled_lines
from pellucid.findings.text import explanation

PRINTED = ("Failed to trace builtin operator", "`print`", "builtin print []")


def resumed(id, line, parent, function):
    name = f"torch_dynamo_resume_in_step_at_{line}"
    return dataclasses.replace(frame(id, 4, name, function), parent=parent)


def took(made, **seconds):
    """The capture with these seconds for each compile, `0/0` as `c0_0`."""
    times = [
        Times(CompileKey(key[1:].replace("_", "/")), False, {"entire_frame_compile_time": of})
        for key, of in seconds.items()
    ]
    return dataclasses.replace(made, times=tuple(times))


def again(id, text):
    return Recompile(CompileKey(id), (text,), failures_of(CompileKey(id), (text,)))


SIZE = "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5"


def test_one_cause_at_many_lines_is_one_finding_with_all_its_lines():
    made = capture(frame(), *(broken(line, *PRINTED, id=f"{line}/0") for line in (5, 7, 10)))
    (found,) = find(made)
    assert [line.place.line for line in found.lines] == [5, 7, 10]
    assert found.lines[2].code == 'print("half way")' and found.count == 3
    assert count_line([found]) == "3 graph breaks"
    text = explanation([made], [found])
    assert "model.py:5, 7, 10  `print`" in text and 'model.py:10  print("half way")' in text
    assert text.count("cannot be part of a graph") == 2  # in the summary, and once below


def test_a_break_costs_what_is_compiled_because_of_it():
    made = capture(frame(), broken(10, *PRINTED), resumed("1/0", 10, "0/0", 1))
    found, slow = find(took(made, c0_0=258.0, c1_0=0.07))
    assert (found.caused, found.cost.seconds, slow.cost.seconds) == (("1/0",), 0.07, 258.0)
    without = capture(frame(), broken(10, *PRINTED))
    (found,) = find(took(without, c0_0=20.0))
    assert found.cost.seconds is None


def test_a_compile_that_a_break_brought_to_nothing_is_its_cost():
    left = Skipped(KEY, Place(FILE, 4, "step"), "Unsupported", "…")
    (found,) = find(took(capture(broken(10, *PRINTED), left), c0_0=3.0))
    assert found.cost.seconds == 3.0


def test_all_costs_together_are_no_more_than_the_whole():
    """A break, its recompile and a slow function share the same compiles."""
    events = [
        frame(),
        broken(10, *PRINTED),
        resumed("1/0", 10, "0/0", 1),
        frame("0/1"),
        again("0/1", SIZE),
        broken(10, *PRINTED, id="0/1"),
        resumed("1/1", 10, "0/1", 1),
        again("1/1", SIZE.replace("0/0", "1/0")),
    ]
    made = took(capture(*events), c0_0=100.0, c1_0=10.0, c0_1=150.0, c1_1=48.0)
    costs = {finding.kind: finding.cost.seconds for finding in find(made)}
    assert costs == {"break": 10.0, "recompile": 198.0, "slow": 100.0}


def test_costs_of_processes_add_up():
    made = took(capture(frame(), broken(10, *PRINTED), resumed("1/0", 10, "0/0", 1)), c1_0=2.0)
    (found,) = find_all([made, made])
    assert (found.count, found.cost.seconds) == (1, 4.0)


def test_a_refused_compile_is_no_recompile():
    refused = Skipped(
        CompileKey("0/2"), Place(FILE, 4, "step"), "", "limit", limit="recompile_limit"
    )
    events = [frame(), frame("0/1"), again("0/1", SIZE), again("0/2", SIZE), refused]
    found = find(capture(*events))
    assert count_line(found) == "1 limit hit, 1 recompile"


def test_a_recompile_without_a_reason_counts():
    (found,) = find(capture(frame(), frame("0/1"), Recompile(CompileKey("0/1"), ())))
    assert (found.kind, found.count) == ("recompile", 1) and "gives no reason" in found.cause


def test_a_call_that_compiles_again_on_both_sides_of_a_break_is_one_recompile():
    events = [
        *(frame(), resumed("1/0", 10, "0/0", 1), frame("0/1"), resumed("1/1", 10, "0/1", 1)),
        *(again("0/1", SIZE), again("1/1", SIZE.replace("0/0", "1/0"))),
    ]
    found = find(capture(*events))
    figures = counts_of([capture(*events)], found)
    assert (figures.functions, figures.versions, figures.recompiles) == (1, 2, 1)


def test_what_resumes_is_no_version():
    parts = [resumed("1/0", 6, "0/0", 1), resumed("2/0", 10, "1/0", 2)]
    assert versions_of([capture(frame(), *parts)]) == {(FILE, 4, "step"): 1}
    assert versions_of([capture(*parts)]) == {(FILE, 0, "step"): 1}


def node(line, file=FILE):
    return Node("a", "call_function", "torch.sin", 3, Place(file, line, "step"))


GRAPH = Graph(KEY, "captured", "g.py", "")


def test_a_line_is_compiled_if_what_it_calls_is_in_a_graph():
    calls = dataclasses.replace(GRAPH, calls=(Place(FILE, 5, "step"), Place(FILE, 99, "main")))
    library = node(3, "/e/site-packages/torch/nn/modules/norm.py")
    made = capture(frame(), calls, nodes={"g.py": (library, node(7))})
    assert compiled_lines([made]) == (2, 2)  # a branch that was not taken is not left out
    assert counts_of([made], ()).of_lines == "2 of 2 lines compiled"


def test_a_line_is_compiled_if_a_frame_that_it_leads_to_has_a_graph():
    """The function itself runs uncompiled; what it calls does not."""
    stack = (Place(FILE, 5, "step"), Place(FILE, 14, "mask"))
    left = Skipped(CompileKey("0/0"), Place(FILE, 4, "step"), "Unsupported", "…")
    inner = Graph(CompileKey("1/0"), "captured", "h.py", "")
    start = Started(CompileKey("1/0"), stack[-1], stack)
    made = capture(left, frame("1/0", 14, "mask", 1), inner, start, nodes={"h.py": (node(15),)})
    compiled, of = compiled_lines([made])
    assert (compiled, of) == (2, 7)


def test_lines_that_python_runs_are_left_out():
    made = capture(frame(), broken(10, *PRINTED), GRAPH, nodes={"g.py": (node(5), node(7))})
    assert compiled_lines([made]) == (2, 3)


def test_the_word_for_a_break_is_the_same_however_it_came():
    why = "torch.compiler.disable"
    made = capture(frame(), broken(10, *PRINTED), break_of(KEY, broken(5, why).text))
    assert count_line(find(made)) == "2 graph breaks"


def test_the_line_of_a_break_is_not_compiled_by_what_resumes_after_it():
    """A frame that resumes is called by the line of the break."""
    resume = Place(FILE, 10, "torch_dynamo_resume_in_step_at_10")
    inner = Graph(CompileKey("1/0"), "captured", "h.py", "")
    start = Started(CompileKey("1/0"), resume, (Place(FILE, 10, "step"), resume))
    events = [frame(), broken(10, *PRINTED), resumed("1/0", 10, "0/0", 1), GRAPH, inner, start]
    made = capture(*events, nodes={"g.py": (node(5),), "h.py": (node(7),)})
    assert compiled_lines([made]) == (2, 3)


def test_where_nothing_is_compiled_no_line_is_counted():
    made = capture(broken(10, *PRINTED), Skipped(KEY, Place(FILE, 4, "step"), "Unsupported", "…"))
    assert counts_of([made], find(made)).compiled == "nothing compiled"
    assert counts_of([made], find(made)).left_out == 0


def test_two_findings_of_one_line_and_cause_stay_two():
    """Two functions in one wrapper: the line is the wrapper's for both."""

    def inside(id, name):
        return dataclasses.replace(frame(id, name=name), wrapper="wrapper")

    events = [inside("0/0", "A.f"), inside("0/1", "A.f"), inside("0/2", "B.f")]
    events += [inside("0/3", "B.f"), again("0/1", SIZE), again("0/3", SIZE.replace("0/0", "0/2"))]
    made = took(capture(*events), c0_1=1.0, c0_3=2.0)
    assert [f.cost.seconds for f in find(made)] == [1.0, 2.0]
    assert len({f.id for f in find(made)}) == len(find_all([made])) == 2

"""The model of the page: what it knows of a dump, and that it knows nothing else."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List

import pytest
from dumps import BREAK_AT, SOURCE, TOY, large, small, write
from hypothesis import given, settings
from hypothesis import strategies as st
from pellucid.dump.model.events import CompileKey, Frame, Place, Source, Verdict
from pellucid.report import findings_of, page_of, report
from pellucid.report.chunks import of_numbers
from pellucid.report.layout import arcs, blocks
from pellucid.report.shrink import without_paths

GOLDEN = Path(__file__).parent / "small.json"


def told(directory: Path) -> Dict[str, Any]:
    """The model of a dump in a form that a person can read."""
    page = page_of([directory])
    (view,) = page.views
    files = view.files.files

    def place(span: Any) -> str:
        file, first, last = span
        rows = f"{first + 1}-{last + 1}" if last > first else str(first + 1)
        return f"{os.path.basename(files[file].name)}:{rows}"

    of = {number: place(span) for span, number in view.links.spans.items()}
    how = ("exact", "by name", "by line")
    return {
        "title": page.title,
        "outcome": [
            f"{o} {line}" for user in view.users for o, line in zip(user.outcome, user.lines)
        ],
        "share": [view.counts.lines, view.counts.lines + view.counts.left_out],
        "files": [f"{file.kind} {os.path.basename(file.name)}" for file in files],
        "functions": [
            {
                "name": function.name,
                "versions": [[v.key, v.verdict, v.operations] for v in function.versions],
                "guards": [
                    [row.source, row.kind, row.cells, {str(k): v for k, v in row.failed.items()}]
                    for row in function.rows
                ],
            }
            for function in view.functions
        ],
        "links": sorted(f"{of[a]} -> {of[b]} {how[h]}" for (a, b), h in view.links.edges.items()),
        "findings": [
            [f["kind"], f["place"]["line"] if f["place"] else 0, f["count"]] for f in view.findings
        ],
    }


def test_the_model_of_the_small_dump(tmp_path: Path) -> None:
    """PELLUCID_UPDATE=1 python -m pytest tests/report -k small_dump writes small.json anew."""
    text = json.dumps(told(small(tmp_path / "dump")), indent=1) + "\n"
    if os.environ.get("PELLUCID_UPDATE"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_two_pages_of_one_dump_are_equal(tmp_path: Path) -> None:
    dump = small(tmp_path / "dump")
    assert (
        report(dump, out=tmp_path / "a").read_bytes()
        == report(dump, out=tmp_path / "b").read_bytes()
    )


def test_every_link_ends_at_an_existing_line(tmp_path: Path) -> None:
    (view,) = page_of([large(tmp_path / "dump", 3_000, 300, 50)]).views
    assert len(view.links.edges) > 1000
    files = view.files.files
    for file, first, last in view.links.spans:
        assert 0 <= first <= last < files[file].size
    ends = {number for pair in view.links.edges for number in pair}
    assert ends == set(view.links.spans.values())


def test_every_source_comment_resolves_to_a_user_line(tmp_path: Path) -> None:
    (view,) = page_of([small(tmp_path / "dump")]).views
    kinds = [file.kind for file in view.files.files]
    of = {number: span for span, number in view.links.spans.items()}
    upper: Dict[int, List[int]] = {}
    for a, b in view.links.edges:
        upper.setdefault(b, []).append(a)
    calls = {
        b
        for a, b in view.links.edges
        if kinds[of[a][0]] == "graph" and kinds[of[b][0]] == "program"
    }
    assert len(calls) == 2
    for call in calls:
        assert any(
            kinds[of[user][0]] == "user" for node in upper[call] for user in upper.get(node, ())
        )


def test_a_dump_of_schema_1(tmp_path: Path) -> None:
    old, new = told(small(tmp_path / "one", schema=1)), told(small(tmp_path / "two"))
    assert old == new


def test_the_lines_of_the_user_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    (view,) = page_of([small(tmp_path / "dump")]).views
    (user,) = view.users
    assert user.path == TOY
    assert user.numbers == [1, 2, 3, 4, 5]
    assert [line.split("(")[0] for line in user.lines] == [
        x.split("(")[0] for x in SOURCE.splitlines()
    ]
    assert user.outcome[BREAK_AT - 1] == "b"


def test_half_of_the_dump_is_gone(tmp_path: Path) -> None:
    dump = small(tmp_path / "dump")
    for i, file in enumerate(sorted(dump.glob("*compiled*")) + sorted(dump.glob("full*"))):
        if i % 2 == 0:
            file.unlink()
    assert b"<h1" in report(dump).read_bytes()
    for file in [*dump.glob("__*"), *dump.glob("full*")]:
        file.unlink()
    page = report(dump).read_text(encoding="utf-8")
    assert "Graph break" in page


def test_no_capture(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from pellucid.__main__ import main

    assert main(["report", str(tmp_path)]) == 1
    assert "pellucid: " in capfd.readouterr().err
    assert main(["report", str(small(tmp_path / "d")), "-o", str(tmp_path / "no" / "x.html")]) == 1


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from pellucid.__main__ import main

    dump = small(tmp_path / "dump")
    assert main(["report", str(dump), "--dot", "captured"]) == 0
    printed = capfd.readouterr().out.split()
    assert printed[-1] == str(dump / "page.html")
    graph = Path(printed[0]).read_text(encoding="utf-8")
    assert graph.startswith('digraph "') and '"add" -> "x"' in graph
    findings = json.loads((dump / "findings.json").read_text(encoding="utf-8"))
    assert findings == json.loads(json.dumps(findings_of(page_of([dump]))))
    with pytest.raises(SystemExit):
        main(["report", str(dump), "--max-size", "much"])


def test_no_torch_is_imported(tmp_path: Path) -> None:
    code = "import sys, pellucid; pellucid.report(sys.argv[1]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(small(tmp_path / "dump"))], check=True)


def test_redacted(tmp_path: Path) -> None:
    from pellucid.report.values import chunks_of

    dump = small(tmp_path / "dump")
    page = report(dump, redact=True).read_text(encoding="utf-8")
    assert "someone" not in page and "b.sum()" not in page
    from pellucid.report import shrink

    model = page_of([dump])
    shrink.redact(model)
    for _, text in chunks_of(model):
        assert "someone" not in opened(text) and "code: if" not in opened(text)
    assert without_paths("at /a/b/c.py:3 and C:\\x\\y.py") == "at c.py:3 and y.py"


def opened(chunk: str) -> str:
    """What a chunk holds."""
    import base64
    import gzip

    return gzip.decompress(base64.b64decode(chunk)).decode("latin-1")


def test_a_page_that_would_be_too_large(tmp_path: Path) -> None:
    dump = large(tmp_path / "dump", 4_000, 400, 20)
    whole = report(dump, out=tmp_path / "whole").stat().st_size
    least = report(dump, out=tmp_path / "least", max_size=1).read_text(encoding="utf-8")
    assert len(least) < whole - 10_000
    assert "Intermediate graph stages were left out" in least
    assert "All graphs and programs were left out." in least
    some = report(dump, out=tmp_path / "some", max_size=whole - 1).read_text(encoding="utf-8")
    assert "Intermediate graph stages were left out" in some and "All graphs" not in some


def test_ranks_that_are_alike_stand_together(tmp_path: Path) -> None:
    top = tmp_path / "dump"
    for rank in range(8):
        small(top / f"rank_{rank}", rank=rank, world_size=8, text="# other\n" if rank == 7 else "")
    page = page_of([top])
    assert [view.label for view in page.views] == ["ranks 0-6", "rank 7"]
    first = page.views[0].findings[0]
    assert first["kind"] == "ranks"
    assert "captured graph of [0/0] differs" in first["cause"]
    one = page_of([small(tmp_path / "one")])
    assert len(page.pool.lines) < 1.1 * len(one.pool.lines)


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    new = {"pellucid": "0.1.0", "python": "3.11.7", "torch": "2.14.0"}
    page = page_of([small(tmp_path / "before"), small(tmp_path / "after", versions=new)])
    assert [view.label for view in page.views] == ["before", "after"]
    assert "torch 2.13.0, after 2.14.0" in page.views[1].findings[0]["cause"]


LISTS = st.lists(st.lists(st.integers(0, 400), max_size=4), max_size=300)


def graph(lists: List[List[int]]) -> Any:
    """Nodes whose arguments come before them, in modules of ten."""
    args = [sorted({n % i for n in given} if i else ()) for i, given in enumerate(lists)]
    nodes = [
        SimpleNamespace(
            name=f"n{i}",
            op="call_function",
            target="f",
            shape=("2",),
            place=None,
            module=((f"m{i // 10}", "M"), (f"m{i // 10}.k{i // 3}", "K")),
        )
        for i in range(len(args))
    ]
    return nodes, args


@settings(deadline=None, max_examples=60)
@given(LISTS)
def test_boxes_do_not_overlap_and_edges_go_down(lists: List[List[int]]) -> None:
    nodes, args = graph(lists)
    picture = blocks(nodes, args)
    assert picture == blocks(nodes, args)
    for a, b in picture.edges:
        assert picture.boxes[a].y < picture.boxes[b].y
    layers: Dict[float, List[Any]] = {}
    for box in picture.boxes:
        layers.setdefault(box.y, []).append(box)
    for boxes in layers.values():
        boxes.sort(key=lambda box: box.x)
        for left, right in zip(boxes, boxes[1:]):
            assert left.x + left.width <= right.x
    shown = sorted(row for box in picture.boxes for rows in (box.nodes, *box.alike) for row in rows)
    assert shown == list(range(len(nodes)))


@settings(deadline=None, max_examples=60)
@given(LISTS)
def test_arcs_start_before_they_end(lists: List[List[int]]) -> None:
    _, args = graph(lists)
    for start, end, lane in arcs(args):
        assert end - start >= 8 and 0 <= lane < 12


def test_equal_layers_are_one_box() -> None:
    nodes = []
    for layer in range(32):
        for i in range(4):
            nodes.append(
                SimpleNamespace(
                    name=f"n{layer}_{i}",
                    op="call_function",
                    target="mm",
                    shape=("8", "8"),
                    place=None,
                    module=((f"layers.{layer}", "Layer"),),
                )
            )
    args = [[i - 1] if i else [] for i in range(len(nodes))]
    picture = blocks(nodes, args)
    assert [box.count for box in picture.boxes] == [32]


def test_many_boxes_are_placed_within_a_second() -> None:
    nodes = [
        SimpleNamespace(
            name=f"n{i}",
            op="call_function",
            target=f"f{i}",
            shape=None,
            place=None,
            module=((f"m{i}", f"M{i}"),),
        )
        for i in range(400)
    ]
    args = [sorted({(i * 7) % i, i - 1}) if i else [] for i in range(400)]
    start = time.perf_counter()
    picture = blocks(nodes, args)
    assert len(picture.boxes) == 400
    assert time.perf_counter() - start < 2


def test_scripts_are_small() -> None:
    from pellucid.report import page

    files = [page._HERE / "static" / name for name in page._SCRIPTS]
    assert set(files) == set((page._HERE / "static").rglob("*.js"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert sum(bool(line.strip()) for line in lines) < 1500
    assert len(page.script_text().encode()) < 60_000
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text.startswith("// @ts-check\n")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|</script", text
        )


def test_numbers_are_packed_as_distances() -> None:
    assert opened(of_numbers([3, 4, 2])) == "\x03\0\0\0\x01\0\0\0\xfe\xff\xff\xff"


def test_a_whole_file_of_the_user(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef main():\n    @compiled\n    def f(x):\n        return x + 1\n"
    frame = Frame(
        CompileKey("0/0"), 0, Place(TOY, 5, "f"), None, Verdict("identical"), "f.py", False
    )
    events = [frame, Source(TOY, text, "")]
    dump = write(tmp_path / "d", events, {"f.py": "def f(x):\n    return x + 1\n"})
    (view,) = page_of([dump]).views
    (user,) = view.users
    assert user.lines == text.splitlines()
    assert user.outcome == "      t"  # main is not compiled, what is in it is


def test_the_picture_of_the_readme_is_small() -> None:
    """`python tests/report/picture.py` takes it anew."""
    root = Path(__file__).resolve().parents[2]
    assert "(docs/page.png)" in (root / "README.md").read_text(encoding="utf-8")
    picture = (root / "docs" / "page.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) < 300_000


def test_what_compiled_nothing_counts_nothing(tmp_path: Path) -> None:
    text = report(write(tmp_path / "dump", [], {})).read_text(encoding="utf-8")
    (facts,) = re.findall(r'(?s)<ul class="facts".*?</ul>', text)
    assert "<b>Nothing</b> was compiled" in facts and facts.count("<li") == 1

"""Notebooks: `%%pellucid` captures a cell, and what it gives is shown as HTML."""

import json
import re
import sys
from pathlib import Path

import pytest
from needs import ROOT, need

NOTEBOOK = ROOT / "docs" / "examples" / "notebook" / "session.ipynb"
MORE = (
    "import pellucid; capture = pellucid.load('dump'); capture",
    "pellucid.decompile_ex(lambda x: x + 1)",
    "%%pellucid --wrong\n1",
    "%%pellucid --out failed\nf(torch.ones(4))\n1 / 0",
    "%%pellucid --out quiet --calls\nx = 3;",
    "x",
    "print(pellucid.find_nan(torch.compile(lambda x: x.log(), backend='eager'), torch.zeros(2)))",
)


@pytest.fixture(scope="module")
def executed(tmp_path_factory, torch):
    """The notebook of the documentation and some cells more: sources and outputs."""
    if sys.version_info >= (3, 14):
        pytest.skip("ipykernel is not installed for this Python")
    need("nbclient")
    need("ipykernel")
    import nbformat
    from nbclient import NotebookClient

    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.reads(NOTEBOOK.read_text(), as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace("@torch.compile\n", '@torch.compile(backend="eager")\n')
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in MORE]
    path = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, resources=path, allow_errors=True).execute()
    return folder, notebook.cells


def html(cell) -> str:
    (found,) = (o.data["text/html"] for o in cell.outputs if "text/html" in o.get("data", {}))
    return found


def test_a_cell_is_captured_and_shown(executed):
    folder, cells = executed
    result, session = cells[2].outputs
    assert result.data["text/plain"] == "tensor([3., 3., 3.])"
    assert session.data["text/plain"].startswith("<Session in ")
    shown = session.data["text/html"]
    assert "1 graph break" in shown and "In [2], line 6" in shown
    assert "torch.where" in shown and "__resume_at" in shown
    assert (folder / "dump" / "page.html").exists()
    sources = json.loads((folder / "dump" / "session.json").read_text())
    assert sources["tool"] == "pellucid"


def test_what_is_loaded_is_shown_alike(executed):
    _, cells = executed
    assert html(cells[3]) == html(cells[2])
    assert "identical" in html(cells[4]) and "_lambda" in html(cells[4])


def test_a_wrong_option_is_said_and_runs_nothing(executed):
    _, cells = executed
    (said,) = cells[5].outputs
    assert said.text == "UsageError: %%pellucid: unrecognized arguments: --wrong\n"


def test_an_error_of_the_cell_is_the_cells_and_the_capture_is_written(executed):
    folder, cells = executed
    error = cells[6].outputs[-1]
    assert error.ename == "ZeroDivisionError"
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
    assert "1 / 0" in trace and "prepare_debug" not in trace
    assert (Path(folder) / "failed" / "session.json").exists()


def test_variables_of_the_cell_stay_and_a_semicolon_is_quiet(executed):
    _, cells = executed
    assert [o.data["text/plain"] for o in cells[8].outputs] == ["3"]
    assert len(cells[7].outputs) <= 2  # the session, and that nothing was compiled


def test_a_line_of_a_cell_is_told_by_the_number_of_the_cell(executed):
    _, cells = executed
    assert re.search(r"your line +In \[\d+\], line 1 in", cells[-1].outputs[0].text)
    folder, _ = executed
    page = (folder / "dump" / "page.html").read_text()
    assert "In [2]" in page

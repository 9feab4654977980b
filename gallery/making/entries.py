# SPDX-License-Identifier: Apache-2.0
"""What the gallery is made of: the programs of programs/, and the models that the paper names."""

import ast
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

GALLERY = Path(__file__).resolve().parents[1]
PROGRAMS = "programs"
MODELS = "models"
_MODEL = '''\
"""{name}, built small with random weights ({mode}).

Look at how many graphs it takes, and at what its lines have become.
"""

from zoo.catalogue import make_torchaudio_import, make_torchvision_import
from zoo.model_run import first_that_runs, seed_all

FAMILY = "{family}"
BACKEND = "aot_eager"
KEPT = []  # torch lets go of its guards with the model


def main():
    import torch

    make_torchvision_import()
    make_torchaudio_import()
    seed_all(0)
    what, run, _ = first_that_runs("{name}", "{mode}", 0)
    KEPT.append(run)
    outputs, gradients = run(lambda module: torch.compile(module, backend=BACKEND))
    return {{"built": what, "outputs": outputs, "gradients": gradients}}
'''


class Entry(NamedTuple):
    """One program, to be captured."""

    name: str
    kind: str
    family: str
    backend: str
    ranks: int
    title: str
    about: str
    source: str


def entries(models: Path) -> List[Entry]:
    """All that the gallery has, programs first."""
    files = sorted((GALLERY / PROGRAMS).glob("*.py"))
    found = [_read(file.stem, PROGRAMS, file.read_text(encoding="utf-8")) for file in files]
    return [*found, *_models(models)]


def _models(path: Path) -> Iterator[Entry]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, suite = line.split("\t")
            for mode in ("training",):
                source = _MODEL.format(name=f"{suite}/{name}", mode=mode, family=suite)
                yield _read(name, MODELS, source)


def _read(name: str, kind: str, source: str) -> Entry:
    """Read what a program says of itself, without running it."""
    tree = ast.parse(source)
    title, _, about = (ast.get_docstring(tree) or name).partition("\n")
    said: Dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            said.update({t.id: node.value.value for t in node.targets if isinstance(t, ast.Name)})
    ranks = said.get("RANKS", 1)
    family, backend = str(said["FAMILY"]), str(said["BACKEND"])
    assert isinstance(ranks, int)
    return Entry(name, kind, family, backend, ranks, title, " ".join(about.split()), source)

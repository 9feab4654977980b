"""The comparison of models with and without pellucid (gallery/zoo) works, and can fail."""

import contextlib
import dataclasses
import random
import sys
import types
from pathlib import Path
from typing import Any, Iterator

import pytest


@pytest.mark.parametrize("mode", ["inference", "training"])
@pytest.mark.parametrize(
    "name", ["BERT_pytorch", "Background_Matting", "LearningToPaint", "dcgan", "pytorch_unet"]
)
def test_small_models_are_the_same_with_pellucid(name: str, mode: str, dynamo: Any) -> None:
    record = _examined(name, mode)
    assert (record["status"], record["why"]) == ("ok", "")
    assert record["frames"] == record["proven"] >= 1


def test_a_capture_that_changes_the_results_is_found(
    dynamo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pellucid
    import torch

    capture, seed = pellucid.prepare_debug, torch.manual_seed

    @contextlib.contextmanager
    def disturbed(directory: Path) -> Iterator[Any]:
        with capture(directory) as session, monkeypatch.context() as changed:
            changed.setattr(torch, "manual_seed", lambda number: seed(number + 1))
            yield session

    monkeypatch.setattr(pellucid, "prepare_debug", disturbed)
    record = _examined("BERT_pytorch", "training")
    assert record["status"] == "wrong"
    assert "the outputs differ" in record["why"]


def test_all_that_a_model_draws_from_is_seeded(torch: Any) -> None:
    import numpy
    from zoo.model_run import seed_all

    drawn = []
    for _ in range(2):
        seed_all(3)
        drawn.append((random.random(), float(numpy.random.rand()), float(torch.rand(1))))
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def f(a):\n    b = g(a)\n    return b", []),
        ("def f(a):\n    a\n    return a", [2]),
        ("def f(a):\n    []\n    b = a\n    return a", [2, 3]),
        ("def f(a):\n    global b\n    b = a\n    c = a\n    del c", []),
        ("def f(a):\n    b = g(a)", []),  # what it keeps alive is no matter of its text
        ("def f(a):\n    a = a\n    b = a\n    return b", [2]),
        ("def f(a):\n    _const_lambda()\n    _const_lambda(a)\n    b = _const_lambda()", [2]),
        ("not python", []),
    ],
)
def test_statements_without_effect_are_found(source: str, lines: Any, torch: Any) -> None:
    from zoo.model_run import idle_lines

    assert idle_lines(source) == lines


def test_what_a_configuration_leaves_open_is_filled_in_and_nothing_else() -> None:
    from zoo.filled import filled, lacked

    part = {"model_type": "part", "sliding_window": None, "num_experts": 8}
    values = {"sliding_window": 64, "top_k_experts": None, "part_config": part, "other": None}
    made = filled({"other": 1}, values, {"dropout_rate"})
    assert made == {
        "other": 1,
        "top_k_experts": 2,
        "dropout_rate": 0.0,
        "part_config": {"sliding_window": 8, "dropout_rate": 0.0},
    }
    assert lacked(AttributeError("'AConfig' object has no attribute 'dropout_rate'")) == {
        "dropout_rate"
    }
    assert lacked(AttributeError("'Model' object has no attribute 'dropout_rate'")) == set()


def test_a_model_of_fewer_layers_gives_what_its_last_ones_make(torch: Any) -> None:
    from zoo.of_transformers import small

    part = {"model_type": "part", "num_hidden_layers": 9, "out_features": ["stage4", "stage9"]}
    made = small({"part_config": part}, "small")["part_config"]
    assert (made["num_hidden_layers"], made["out_features"]) == (2, ["stage1", "stage2"])


def test_a_layer_that_is_named_is_one_of_those_kept(torch: Any) -> None:
    from zoo.of_transformers import small

    made = small({"num_hidden_layers": 12, "insert_layer_id": 6, "other_layer_id": 0}, "small")
    assert made == {"num_hidden_layers": 2, "insert_layer_id": 1}


def test_layers_that_share_and_further_vocabularies_become_fewer(torch: Any) -> None:
    from zoo.mended import agree

    values = {"num_kv_shared_layers": 15, "vocab_size_per_layer_input": 9000, "other": 9000}
    assert agree({}, values) == {"num_kv_shared_layers": 1, "vocab_size_per_layer_input": 300}


@dataclasses.dataclass
class _Open:
    vocabulary_map: "dict | None" = None
    layer_types: "list | None" = None
    num_hidden_layers: int = 2

    def to_dict(self) -> Any:
        return dataclasses.asdict(self)


def _special(words: Any) -> Any:
    return words.get("<image>")


def _reads_words(config: Any) -> Any:
    return _special(config.vocabulary_map)


def _reads_kinds(config: Any) -> Any:
    return ["convolution" if kind == "conv" else kind for kind in config.layer_types]


def test_an_open_dictionary_gets_the_words_that_are_looked_up_in_it(torch: Any) -> None:
    assert {"vocabulary_map": {"<image>": 250}} in _mended(_reads_words)


def test_open_kinds_of_layers_are_those_that_the_code_tells_apart(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = types.SimpleNamespace(ALLOWED_ATTN_LAYER_TYPES=("no" + "where", "conv"))
    library = types.SimpleNamespace(configuration_utils=known)
    monkeypatch.setitem(sys.modules, "transformers", library)
    assert _mended(_reads_kinds)[0] == {"layer_types": ["conv", "conv"], "num_hidden_layers": 2}


def test_a_mask_that_must_be_boolean_becomes_so(torch: Any) -> None:
    from zoo.fitted import Search

    class Masked(torch.nn.Module):
        def forward(self, hidden_states: Any, attention_mask: Any) -> Any:
            return hidden_states.masked_fill(attention_mask[..., None], 0.0)

    inputs = Search(Masked(), types.SimpleNamespace(hidden_size=8)).inputs()
    assert inputs is not None
    mask = inputs()["attention_mask"]
    assert mask.dtype == torch.bool
    assert mask.any()
    assert not mask.all()


def test_an_object_is_told_what_the_forward_that_works_on_it_misses(torch: Any) -> None:
    from zoo.fitted import Search

    class Session:
        def __init__(self, height: Any = None) -> None:
            self.height = height
            self.frames: Any = []
            self.masks: Any = {}
            self.fresh: Any = []

        def index(self, key: int) -> int:
            self.masks[key] = {}
            return key

        def add_mask_inputs(self, key: int, frame: int, inputs: torch.Tensor) -> None:
            self.masks[key][frame] = inputs

    class Tracks(torch.nn.Module):
        def forward(self, session: Session, frame: Any = None) -> Any:
            """Track on a `frame`.

            frame (`torch.Tensor`):
                A picture.
            """
            session.frames += [] if frame is None else [frame]
            first = session.frames[0]
            if not session.masks:
                raise ValueError("There is no object; please add inputs first.")
            has_mask = 0 in session.fresh
            if not has_mask:
                raise ValueError("The memory is empty.")
            return first * session.masks[0][0]

    inputs = Search(Tracks(), types.SimpleNamespace(image_size=32)).inputs()
    assert inputs is not None
    made = inputs()
    assert (made["session"].height, made["session"].fresh) == (32, [0])
    assert made["session"].masks[0][0].shape == (1, 1, 32, 32)
    assert made["frame"].shape == (1, 3, 32, 32)
    assert inputs()["session"] is not made["session"]


def test_sizes_of_nothing_agree_with_none(torch: Any) -> None:
    from zoo.fitted import agreeing

    text = "The size of tensor a ({}) must match the size of tensor b ({})"
    assert not list(agreeing(RuntimeError(text.format(4, 0))))
    assert list(agreeing(RuntimeError(text.format(4, 6)))) == [(4, 6), (6, 4)]


def test_a_large_network_of_timm_is_told_to_be_smaller_as_it_can_be_told(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.of_timm import smaller

    def create_model(name: str, pretrained: bool, layers: Any = (5,), plain: bool = False) -> Any:
        return torch.nn.Linear(10_000 if name == "large" else 10, 10_000 * sum(layers))

    monkeypatch.setitem(sys.modules, "timm", types.SimpleNamespace(create_model=create_model))
    told = smaller({"architecture": "large", "model_args": {"plain": True}, "num_classes": 3})
    arguments = {"plain": True, "layers": (1,) * 4}
    assert told == {"architecture": "large", "model_args": arguments, "num_classes": 3}
    told = smaller({"architecture": "little", "model_args": None})
    assert told == {"architecture": "little", "model_args": {}, "num_classes": 2}


def _mended(function: Any) -> Any:
    from zoo.mended import mended

    config = _Open()
    try:
        function(config)
    except Exception as error:
        return list(mended({}, config, error))
    raise AssertionError("it did not fail")


def _examined(name: str, mode: str) -> Any:
    import argparse

    from zoo import model_run

    arguments = argparse.Namespace(seed=0, backend="eager", depyf=False)
    return list(model_run.examine(f"torchbench/{name}", mode, arguments))[-1]

"""Programs for check_guards.py: a table of cases, timm's test models, small transformers.

Each is a name and a function that makes what is to be called and the calls' arguments.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, List, Tuple

Calls = List[Tuple[Any, ...]]
Program = Tuple[str, Callable[[], Tuple[Callable[..., Any], Calls]]]

# Of transformers: the architectures that make themselves from a few numbers and take token ids.
_TEXT = [
    "albert",
    "bert",
    "bert-generation",
    "big_bird",
    "biogpt",
    "bloom",
    "camembert",
    "codegen",
    "convbert",
    "ctrl",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "esm",
    "falcon",
    "gemma",
    "glm",
    "gpt2",
    "gpt_bigcode",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "granite",
    "llama",
    "longformer",
    "megatron-bert",
    "mistral",
    "mobilebert",
    "modernbert",
    "mpnet",
    "mpt",
    "nystromformer",
    "olmo",
    "openai-gpt",
    "opt",
    "persimmon",
    "phi",
    "qwen2",
    "roberta",
    "roformer",
    "squeezebert",
    "stablelm",
    "starcoder2",
    "xglm",
    "xlm-roberta",
    "yoso",
]
_SMALL = {
    "hidden_size": 32,
    "embedding_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "dim": 32,
    "hidden_dim": 64,
    "intermediate_size": 64,
    "ffn_dim": 64,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "head_dim": 8,
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "pad_token_id": 0,
    "use_cache": False,
}


def cases(path: Path) -> Iterator[Program]:
    """Yield the cases of a Python file: ``CASES[name] = (style, make)``."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    for name, (_, make) in module.CASES.items():
        yield name, make


def timm_models() -> Iterator[Program]:
    """Yield timm's own test models; none where timm is not installed."""
    _torchvision()
    try:
        import timm
    except ImportError:
        return
    for name in timm.list_models("test_*"):
        yield f"timm/{name}", lambda name=name: _timm(name)  # type: ignore[misc]


def _catalogue() -> Any:
    gallery = str(Path(__file__).resolve().parents[3] / "gallery")
    if gallery not in sys.path:
        sys.path.append(gallery)
    return importlib.import_module("zoo.catalogue")


def _torchvision() -> None:
    catalogue = _catalogue()
    catalogue.make_torchvision_import()
    catalogue.make_torchaudio_import()


def _timm(name: str) -> tuple[Callable[..., Any], Calls]:
    import timm
    import torch

    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False).eval()
    size = model.default_cfg["input_size"]
    return model, [(torch.randn(2, *size),), (torch.randn(3, *size),)]


def transformers_models() -> Iterator[Program]:
    """Yield small text models of transformers; none where it is not installed."""
    _torchvision()
    try:
        import transformers  # noqa: F401
    except ImportError:
        return
    for name in _TEXT:
        yield f"transformers/{name}", lambda name=name: _transformer(name)  # type: ignore[misc]


def _transformer(name: str) -> tuple[Callable[..., Any], Calls]:
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    config = AutoConfig.for_model(name)
    for key, value in _SMALL.items():
        if hasattr(config, key) and isinstance(getattr(config, key), (int, type(None))):
            with contextlib.suppress(AttributeError):  # some are computed from others
                setattr(config, key, value)
    model = AutoModel.from_config(config).eval()
    return model, [(torch.randint(1, 90, (2, length)),) for length in (16, 24)]


def zoo_models(names: List[str]) -> Iterator[Program]:
    """Yield models of gallery/zoo by their names, as SUITE/NAME."""
    _torchvision()
    for name in names:
        yield name, functools.lru_cache(None)(functools.partial(_of_zoo, name))


def _of_zoo(name: str) -> tuple[Callable[..., Any], Calls]:
    import torch

    torch.manual_seed(0)
    for built in _catalogue().build(name):
        model = built.module.eval()
        with contextlib.suppress(Exception):  # then the next way to build it, or to call it
            calls = [built.inputs() for _ in range(2)]
            for inputs in calls:
                model(*inputs.get("", ()), **{k: v for k, v in inputs.items() if k})
            if "" in calls[0]:
                return model, [tuple(inputs[""]) for inputs in calls]
            return _by_keyword(model), [(inputs,) for inputs in calls]
    raise _catalogue().Missing(name)


def _by_keyword(model: Any) -> Callable[..., Any]:
    return lambda inputs: model(**inputs)

# SPDX-License-Identifier: Apache-2.0
"""Small models with random weights, by name: what the cost of a capture is measured on.

Those of `torch.nn` need torch alone; the others are left out where timm or transformers is missing.
"""

import importlib.util
import os
from typing import Any, Callable, Dict, List, Tuple

Built = Tuple[Any, Dict[str, Any]]
"""A module, and the keyword arguments to call it with."""


def encoder() -> Built:
    """Build a six-layer encoder of `torch.nn`."""
    import torch

    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    return encoder, {"src": torch.randn(2, 16, 64)}


def convolutions() -> Built:
    """Build a small stack of convolutions."""
    import torch
    from torch import nn

    widths = [3, 16, 32, 64]
    layers = []
    for low, high in zip(widths, widths[1:]):
        layers += [nn.Conv2d(low, high, 3, padding=1), nn.BatchNorm2d(high), nn.ReLU()]
    return nn.Sequential(*layers), {"input": torch.randn(2, 3, 32, 32)}


def breaking() -> Built:
    """Build an encoder with a graph break in each layer: many small frames."""
    import torch

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)

        def forward(self, x: Any) -> Any:
            hidden = self.first(x).relu()
            if hidden.sum() < -1e9:
                hidden = hidden * 2
            return self.second(hidden) + x

    return torch.nn.Sequential(*(Layer() for _ in range(4))), {"input": torch.randn(4, 32)}


_kept: List[Any] = []


def _declare_torchvision() -> None:
    """Let torchvision load beside a torch without CUDA: its own library, built for it, does not."""
    import torch

    if torch.version.cuda is None and not _kept:
        library = torch.library.Library("torchvision", "DEF")
        library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _kept.append(library)


def _timm(name: str, size: int = 224) -> Callable[[], Built]:
    def build() -> Built:
        import torch

        _declare_torchvision()
        import timm

        return timm.create_model(name, pretrained=False), {"x": torch.randn(1, 3, size, size)}

    return build


def _transformer(config: str, model: str, **sizes: Any) -> Callable[[], Built]:
    def build() -> Built:
        import torch

        _declare_torchvision()
        import transformers

        made = getattr(transformers, config)(vocab_size=100, **sizes)
        tokens = torch.randint(0, 100, (1, 16))
        return getattr(transformers, model)(made), {"input_ids": tokens}

    return build


_BERT: Dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
_LLAMA: Dict[str, Any] = {**_BERT, "num_key_value_heads": 2, "use_cache": False}

MODELS: Dict[str, Callable[[], Built]] = {
    "nn.encoder": encoder,
    "nn.convolutions": convolutions,
    "nn.breaking": breaking,
    "timm.resnet10t": _timm("resnet10t"),
    "timm.mobilenetv3_small_050": _timm("mobilenetv3_small_050"),
    "timm.test_vit": _timm("test_vit", 160),
    "timm.test_convnext": _timm("test_convnext", 160),
    "timm.test_efficientnet": _timm("test_efficientnet", 160),
    "hf.bert": _transformer("BertConfig", "BertModel", **_BERT),
    "hf.gpt2": _transformer("GPT2Config", "GPT2Model", n_embd=32, n_layer=3, n_head=4),
    "hf.llama": _transformer("LlamaConfig", "LlamaModel", **_LLAMA),
    "hf.mistral": _transformer("MistralConfig", "MistralModel", **_LLAMA),
    "hf.roberta": _transformer("RobertaConfig", "RobertaModel", **_BERT),
}


def available() -> Dict[str, Callable[[], Built]]:
    """Return the models whose library is installed here."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    needs = {"timm": "timm", "hf": "transformers", "nn": "torch"}
    return {
        name: build
        for name, build in MODELS.items()
        if importlib.util.find_spec(needs[name.split(".")[0]]) is not None
    }

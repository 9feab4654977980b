# SPDX-License-Identifier: Apache-2.0
"""Real models, built small with random weights: names to modules and their inputs.

A model's name is ``SUITE/NAME``. The suites are `huggingface`, `timm` and `torchbench` (the models
that the depyf paper names), `transformers` (any architecture of that library) and `family` (any
model of timm). Nothing is downloaded.
"""

import contextlib
import random
import sys
import types
from typing import Any, Dict, Iterator, List, Tuple

import torch

from .bench import SMALL
from .built import Built, Missing
from .of_timm import SHALLOW
from .of_transformers import architecture, named, transformer

# What a paper's name is called today. The huge ones stand for the smallest of their architecture.
HUGGINGFACE: Dict[str, str] = {
    "hf_Bert": "BertForMaskedLM",
    "AllenaiLongformerBase": "LongformerForMaskedLM",
    "hf_Bart": "BartForConditionalGeneration",
    "CamemBart": "CamembertForMaskedLM",
    "DistilGPT": "GPT2LMHeadModel",
    "hf_GPT2": "GPT2LMHeadModel",
    "M2M100": "M2M100ForConditionalGeneration",
    "S2T2": "Speech2Text2ForCausalLM",
    "RoBERTaForCausalLM": "RobertaForCausalLM",
    "RoBERTaForQuestionAnswering": "RobertaForQuestionAnswering",
    "T5Small": "T5ForConditionalGeneration",
    "hf_T5": "T5ForConditionalGeneration",
    "YituTechConvBert": "ConvBertForMaskedLM",
}
TIMM: Dict[str, str] = {
    "gluon_inception_v3": "inception_v3",
    "adv_inception_v3": "inception_v3",
    "jx_nest_base": "nest_tiny",
    "swsl_resnext101_32x16d": "resnext101_32x4d",
    "cait_m36_384": "cait_xxs24_224",
    "xcit_large_24_p8_224": "xcit_tiny_12_p8_224",
    "beit_base_patch16_224": "beit_base_patch16_224:depth=3",
    "deit_base_distilled_patch16_224": "deit_tiny_distilled_patch16_224",
    "vit_base_patch16_224": "vit_tiny_patch16_224",
    "convit_base": "convit_tiny",
    "convnext_base": "convnext_tiny",
    "mixer_b16_224": "mixer_s16_224",
    "dpn107": "dpn68",
    "swin_base_patch4_window7_224": "swin_tiny_patch4_window7_224",
    "twins_pcpvt_base": "twins_pcpvt_small",
    "timm_nfnet": "dm_nfnet_f0",
    "timm_vovnet": "ese_vovnet19b_dw",
    "timm_regnet": "regnety_004",
    "timm_resnest": "resnest14d",
    "timm_efficientnet": "efficientnet_b0",
    "timm_vision_transformer": "vit_small_patch16_224",
}
TORCHVISION = {
    "alexnet",
    "densenet121",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x1_0",
    "squeezenet1_1",
    "vgg16",
}
# What says in the name of a model of timm that it is small, the best first.
_SMALL = """test_ nano atto femto pico xxs xxtiny xtiny tiny micro mini small lite _s0 _b0 _t0 _xs
    s16 121 _t$ _s$ _m$ 18 26"""
# Families whose smallest member is large: fewer layers of it.
_FEWER = {
    "beit_base_patch16_224": "depth=3",
    "deepseek_vit_412m": "depth=2",
    "gemma4_vit_167m": "depth=2",
    "naflexvit_base_patch16_gap": "depth=3",
    "qwen3_vit_88m": "depth=2",
    "samvit_base_patch16": "depth=3,img_size=256",
}


def make_torchvision_import() -> None:
    """Let PyPI's torchvision be imported beside a build of torch for the processor alone.

    It looks for two operators of its CUDA library, which such a torch cannot load; nothing here
    calls them.
    """
    if torch.version.cuda is None and not _OPERATORS:
        _OPERATORS.append(torch.library.Library("torchvision", "DEF"))
        for name in ("nms", "qnms"):
            declared = f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            _OPERATORS[0].define(declared)


def make_torchaudio_import() -> None:
    """Let PyPI's torchaudio, where it is installed, be imported beside any build of torch.

    Its compiled part wants the libraries of one CUDA. What is called here is written in Python,
    which asks no more of the compiled part than whether it is there.
    """
    absent = types.ModuleType("torchaudio._extension")
    absent.__dict__.update(
        _IS_TORCHAUDIO_EXT_AVAILABLE=False, fail_if_no_align=lambda function: function
    )
    sys.modules.setdefault("torchaudio._extension", absent)


_OPERATORS: List[Any] = []  # they go when this does


def build(name: str) -> Iterator[Built]:
    """Yield the ways to build a model, the smallest first; the caller takes the first that runs.

    Raises Missing, with the cause, when there is no way.
    """
    suite, _, short = name.partition("/")
    if suite == "family":
        yield from _family(short)
    elif suite == "transformers":
        yield from architecture(short)
    elif suite == "torchbench" and short in SMALL:
        small = SMALL[short]
        yield Built(f"{small.what}, after its paper", small.make(), lambda: {"": small.arguments()})
    elif short in TORCHVISION:
        yield _torchvision(short)
    elif suite == "timm" or short in TIMM:
        yield from _timm(TIMM.get(short, short))
    elif suite == "huggingface" or short in HUGGINGFACE:
        yield from transformer(named(HUGGINGFACE.get(short, short)))
    else:
        raise Missing(f"there is nothing that {name} stands for")


def names(which: str, seed: int) -> List[str]:
    """The names of one list: `families` of timm, or a seeded third of `architectures`."""
    if which == "families":
        return [f"family/{name}" for name in _families()]
    if which == "architectures":
        from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

        known = sorted(MODEL_MAPPING_NAMES)
        return [
            f"transformers/{n}" for n in sorted(random.Random(seed).sample(known, len(known) // 3))
        ]
    raise ValueError(f"no list of models: {which!r}")


# -- timm and torchvision --------------------------------------------------------------------------


def _families() -> List[str]:
    """The smallest model of each of timm's modules, as far as names tell.

    A word that ends in a dollar sign is one that the name ends in.
    """
    import timm

    words = _SMALL.split()

    def size(name: str) -> Tuple[int, int, str]:
        ranks = [rank for rank, word in enumerate(words) if word in f"{name}$"]
        return min(ranks, default=len(words)), len(name), name

    families = [timm.list_models(module=module) for module in timm.list_modules()]
    return [min(models, key=size) for models in families if models]


def _family(name: str) -> Iterator[Built]:
    """A model of timm with one layer of a kind where it can be told so, and as it is."""
    if name in _FEWER:
        yield from _timm(f"{name}:{_FEWER[name]}")
        return
    for options in SHALLOW:
        with contextlib.suppress(Exception):  # it has no such setting, or another use for it
            yield from _network(name, options)
    yield from _network(name, {})


def _timm(name: str) -> Iterator[Built]:
    name, _, settings = name.partition(":")
    pairs = (item.partition("=") for item in settings.split(",") if item)
    yield from _network(name, {key: int(value) for key, _, value in pairs})


def _network(name: str, options: Dict[str, Any]) -> Iterator[Built]:
    import timm

    module = timm.create_model(name, pretrained=False, num_classes=10, **options)
    name = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
    config = module.default_cfg
    full = tuple(config["input_size"])
    if not config.get("fixed_input_size") and full[1] > 128:
        yield Built(
            f"timm {name} at 128", module, lambda: {"": [torch.randn(2, full[0], 128, 128)]}
        )
    yield Built(f"timm {name} at {full[1]}", module, lambda: {"": [torch.randn(2, *full)]})


def _torchvision(name: str) -> Built:
    import torchvision

    module = getattr(torchvision.models, name)(weights=None, num_classes=10)
    return Built(f"torchvision {name}", module, lambda: {"": [torch.randn(2, 3, 64, 64)]})

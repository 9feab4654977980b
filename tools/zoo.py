"""Real models, built small with random weights: names to modules and their inputs.

A model's name is ``SUITE/NAME``. The suites are `huggingface`, `timm` and `torchbench` (the models
that the depyf paper names), `transformers` (any architecture of that library) and `family` (any
model of timm). Nothing is downloaded.
"""

import inspect
import random
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import torch
from zoo_bench import SMALL

Inputs = Callable[[], Dict[str, Any]]


class Missing(Exception):
    """Say why a model cannot be built here."""


class Built(NamedTuple):
    """A module with what it is called with; keyword "" stands for positional arguments."""

    what: str
    module: torch.nn.Module
    inputs: Inputs


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

# Attributes of a transformers configuration that say how large a model is, by the size wanted.
_DEPTHS = """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers depth
    num_encoder_layers num_decoder_layers decoder_num_layers"""
_SIZES = {
    64: """hidden_size d_model n_embd dim embed_dim embedding_size projection_dim emb_dim
        word_embed_proj_dim hidden_dim decoder_hidden_size intermediate_size d_ff ffn_dim
        encoder_ffn_dim decoder_ffn_dim n_inner dim_feedforward moe_intermediate_size
        shared_expert_intermediate_size image_size d_latents num_latents""",
    2: f"{_DEPTHS} num_key_value_heads num_self_attends_per_block",
    4: """num_attention_heads n_head n_heads num_heads encoder_attention_heads num_experts
        decoder_attention_heads num_local_experts n_routed_experts""",
    16: "head_dim d_kv",
    128: "max_position_embeddings n_positions n_ctx",
    8: "rotary_dim",
    300: "vocab_size",
}
SIZES = {name: size for size, listed in _SIZES.items() for name in listed.split()}


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


_OPERATORS: List[Any] = []  # they go when this does


def build(name: str) -> Iterator[Built]:
    """Yield the ways to build a model, the smallest first; the caller takes the first that runs.

    Raises Missing, with the cause, when there is no way.
    """
    suite, _, short = name.partition("/")
    if suite == "family":
        yield from _timm(f"{short}:{_FEWER.get(short, '')}")
    elif suite == "transformers":
        yield from _architecture(short)
    elif suite == "torchbench" and short in SMALL:
        small = SMALL[short]
        yield Built(f"{small.what}, after its paper", small.make(), lambda: {"": small.arguments()})
    elif short in TORCHVISION:
        yield _torchvision(short)
    elif suite == "timm" or short in TIMM:
        yield from _timm(TIMM.get(short, short))
    elif suite == "huggingface" or short in HUGGINGFACE:
        yield from _transformers(_class(HUGGINGFACE.get(short, short)))
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


def _timm(name: str) -> Iterator[Built]:
    import timm

    name, _, settings = name.partition(":")
    options = {
        k: int(v) for k, _, v in (item.partition("=") for item in settings.split(",") if item)
    }
    module = timm.create_model(name, pretrained=False, num_classes=10, **options)
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


# -- transformers ----------------------------------------------------------------------------------


def _class(name: str) -> type:
    import transformers

    found = getattr(transformers, name, None)
    if found is None:
        raise Missing(f"transformers {transformers.__version__} has no {name}")
    return found


def _architecture(name: str) -> Iterator[Built]:
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    found = MODEL_MAPPING_NAMES[name]
    yield from _transformers(_class(found if isinstance(found, str) else found[0]))


def _transformers(cls: Any) -> Iterator[Built]:
    errors: List[str] = []
    for level in ("all", "depth", "none"):
        try:
            config = cls.config_class(**_small(cls.config_class().to_dict(), level))
            with torch.device("meta"):
                count = sum(p.numel() for p in cls(config).parameters())
            if count > 120_000_000:
                raise Missing(f"{count // 10**6} million parameters")
            module = cls(config)
        except Exception as error:  # a configuration that this architecture refuses
            errors.append(f"{type(error).__name__}: {str(error)[:100]}")
            continue
        for inputs in _model_inputs(module, config):
            yield Built(f"{cls.__name__}, {count / 1e6:.1f}M", module, inputs)
    raise Missing(" | ".join(errors) or "no inputs fit")


# What an architecture works on whose configuration names none of its own.
_BACKBONE = {
    "model_type": "resnet",
    "embedding_size": 16,
    "hidden_sizes": [16, 16, 32, 32],
    "depths": [1, 1, 1, 1],
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}


def _small(values: Dict[str, Any], level: str) -> Dict[str, Any]:
    """The settings that make a configuration small."""
    made: Dict[str, Any] = {}
    pad = values.get("pad_token_id")
    for key, value in values.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if isinstance(value, dict) and key.endswith("_config"):
            kind = {"model_type": value["model_type"]} if "model_type" in value else {}
            if value.get("backbone"):  # a network of timm's: smaller ones have the same stages
                kind.update(backbone="resnet18", out_indices=value.get("out_indices"))
            made[key] = {**_small(value, level), **kind}
        elif level == "none":
            continue
        elif whole and key.endswith("token_id") and value >= 200:
            made[key] = 7 if value == pad else 3 + len(key) % 90
        elif whole and value > SIZES.get(key, value):
            if level == "all" or key in (*_DEPTHS.split(), "vocab_size"):
                made[key] = SIZES[key]
        elif key in ("layer_types", "mlp_layer_types", "layers_block_type") and value:
            made[key] = value[:2]
        elif key in ("depths", "num_blocks") and isinstance(value, (list, tuple)):
            made[key] = [1] * len(value)
        elif key == "attention_window" and isinstance(value, list):
            made[key] = [8, 8]
        elif key == "axial_pos_shape" and value:  # Reformer's positions: their product is a length
            made[key] = [4, 4]
        elif key == "backbone_config" and value is None and not values.get("backbone"):
            made[key] = _BACKBONE
        elif key == "attention_types" and value:  # GPT-Neo's way to say how many layers there are
            made[key] = [[["global", "local"], 1]]
    return made


def _model_inputs(module: Any, config: Any) -> Iterator[Inputs]:
    taken = inspect.signature(module.forward).parameters
    parts = [config, *(v for v in vars(config).values() if hasattr(v, "to_dict"))]

    def setting(key: str, default: Any) -> Any:
        found = [
            getattr(p, key) for p in parts if isinstance(getattr(p, key, None), (int, list, tuple))
        ]
        return found[0] if found else default

    vocabulary = max(12, min(int(setting("vocab_size", 300)), 300))
    size = setting("image_size", 64)
    height, width = size[:2] if isinstance(size, (list, tuple)) else (size, size)
    channels = setting("num_channels", 3)
    mel = setting("num_mel_bins", setting("feature_size", setting("input_feat_per_channel", 80)))
    wide = setting("feature_projection_input_dim", mel)

    def ids() -> torch.Tensor:
        return torch.randint(8, max(10, vocabulary - 150), (2, 16))

    def text() -> Dict[str, Any]:
        made = {"input_ids": ids(), "attention_mask": torch.ones(2, 16, dtype=torch.long)}
        if "decoder_input_ids" in taken:
            made["decoder_input_ids"] = ids()
        return {key: value for key, value in made.items() if key in taken}

    def pixels() -> Dict[str, Any]:
        return {"pixel_values": torch.randn(2, channels, height, width)}

    def with_ids(features: torch.Tensor) -> Dict[str, Any]:
        more = {"decoder_input_ids": ids()} if "decoder_input_ids" in taken else {}
        return {"input_features": features, **more}

    def spectrogram(values: torch.Tensor) -> Dict[str, Any]:
        more = {"decoder_input_values": values} if "decoder_input_values" in taken else {}
        return {"input_values": values, **more}

    by_input: Dict[str, List[Inputs]] = {
        "pixel_values": [pixels, lambda: {**text(), **pixels()}],
        "pixel_values_videos": [
            lambda: {"pixel_values_videos": torch.randn(1, 4, channels, height, width)}
        ],
        "input_values": [
            lambda: {"input_values": torch.randn(1, 4000)},
            lambda: {"input_values": torch.randn(1, 1, 4000)},
            lambda: spectrogram(torch.randn(1, 32, mel)),
        ],
        "inputs": [lambda: {"inputs": torch.randn(2, 16, setting("d_model", 64))}],
        "input_features": [
            lambda: with_ids(torch.randn(1, mel, 200)),
            lambda: with_ids(torch.randn(1, 60, wide)),
            lambda: with_ids(torch.randn(1, mel, 3000)),
        ],
        "input_ids": [
            text,
            lambda: {"input_ids": ids()},
            # A classifier without a padding token takes one text at a time.
            lambda: {key: value[:1] for key, value in text().items()},
            lambda: {**text(), **pixels()},
        ],
    }
    main = getattr(module, "main_input_name", "input_ids")
    yield from by_input.get(main, by_input["input_ids"])
    if hasattr(module, "dummy_inputs"):
        yield lambda: dict(module.dummy_inputs)

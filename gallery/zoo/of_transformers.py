# SPDX-License-Identifier: Apache-2.0
"""Architectures of transformers, made small by rules that hold for all of their configurations.

The rules go by what a setting is called and what it is by default; a second way to make a model
small keeps the proportions of all widths, a third keeps the widths, a fourth keeps everything. The
last fills in what the defaults leave open (zoo_filled.py).
"""

import copy
import time
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch

from .built import Built, Missing
from .filled import filled, lacked
from .fitted import Search, callable_at_all, fitting
from .inputs import inputs_of, required
from .mended import agree, mended
from .of_timm import channels, smaller
from .parts import encoding, parts_of

# Attributes of a configuration that say how large a model is, by the size wanted.
_DEPTHS = """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers depth
    num_encoder_layers num_decoder_layers decoder_num_layers conf_num_hidden_layers"""
_SIZES = {
    64: """hidden_size d_model n_embd dim embed_dim embedding_size projection_dim emb_dim
        word_embed_proj_dim hidden_dim decoder_hidden_size intermediate_size d_ff ffn_dim
        hidden_size_global fpn_hidden_size
        encoder_ffn_dim decoder_ffn_dim n_inner dim_feedforward moe_intermediate_size
        shared_expert_intermediate_size image_size d_latents num_latents q_lora_rank
        adapter_in_dim adapter_input_size adapter_out_dim output_channels""",
    2: f"""{_DEPTHS} num_key_value_heads num_self_attends_per_block num_experts_per_tok n_group
        moe_k top_k_experts""",
    4: """num_attention_heads n_head n_heads num_heads encoder_attention_heads num_experts
        decoder_attention_heads num_local_experts n_routed_experts moe_num_experts index_n_heads
        linear_num_heads""",
    16: """head_dim d_kv qk_rope_head_dim qk_nope_head_dim v_head_dim index_head_dim
        linear_head_dim""",
    128: "max_position_embeddings n_positions n_ctx",
    32: "kv_lora_rank num_pos_feats",
    8: "rotary_dim num_filters",
    1: "topk_group",
    300: "vocab_size",
}
SIZES = {name: size for size, listed in _SIZES.items() for name in listed.split()}
# What the names of widths have in them, and what those of other numbers have.
_WIDTHS = ("dim", "hidden", "size", "width", "embd", "d_model", "channel", "rank", "section")
_WIDTHS += ("feats", "ff")
_NO_WIDTHS = ("vocab", "patch", "image", "kernel", "window", "chunk", "group", "num_channels")
_SCALE = 8
_WAYS = ("small", "scaled", "shallow", "default", "filled")
# What some configurations leave open and their models do not.
_WITHOUT_DEFAULT = {"prediction_length": 4, "num_experts_per_tok": 2}
_HEAD = ("qk_nope_head_dim", "qk_rope_head_dim")
_LARGEST = 200_000_000  # parameters
_FEW = 6  # layers
_MENDS = 16  # settings changed one after the other
_SECONDS = 20.0  # of this process's time, to mend configurations

# What an architecture works on whose configuration names none of its own.
_BACKBONE = {
    "model_type": "resnet",
    "embedding_size": 16,
    "hidden_sizes": [16, 16, 32, 32],
    "depths": [1, 1, 1, 1],
    "out_features": ["stage1", "stage2", "stage3", "stage4"],
}


def named(name: str) -> type:
    """Return the class of a name; raises Missing where this transformers has none."""
    import transformers

    found: type | None = getattr(transformers, name, None)
    if found is None:
        raise Missing(f"transformers {transformers.__version__} has no {name}")
    return found


def architecture(name: str) -> Iterator[Built]:
    """Yield the ways to build the base model of a model type."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    found = MODEL_MAPPING_NAMES[name]
    yield from transformer(named(found if isinstance(found, str) else found[0]))


def transformer(cls: Any) -> Iterator[Built]:
    """Yield the ways to build a model of a class, the smallest first; raises Missing at the end."""
    if not callable_at_all(cls):
        encoder = encoding(cls)
        yield from _in_parts(cls) if encoder is None else transformer(encoder)
    errors: List[str] = []
    for way, config, module, what in _modules(cls, errors):
        for inputs in inputs_of(module, config):
            yield Built(f"{what}, {way}", module, inputs)
    # Where `forward` must have nothing, its inputs are rarely what is wrong.
    ways = (_with_found_inputs, _mended) if required(cls.forward) else (_mended, _with_found_inputs)
    for more in ways:
        yield from more(cls)
    raise Missing(" | ".join(dict.fromkeys(errors)) or "no inputs fit")


def _modules(cls: Any, errors: List[str]) -> Iterator[Tuple[str, Any, Any, str]]:
    """Yield modules of a class: by which way, its configuration, the module, and what it is."""
    for way in _WAYS:
        try:
            config, count = _configured(cls, way, set())
            if count > _LARGEST:
                raise Missing(f"{count // 10**6} million parameters")
            module = cls(config)
        except Exception as error:  # a configuration that this architecture refuses
            errors.append(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}")
            continue
        yield way, config, module, f"{cls.__name__}, {count / 1e6:.1f}M"


def _in_parts(cls: Any) -> Iterator[Built]:
    errors = [f"{cls.__name__} has no forward"]
    for way, _, module, what in _modules(cls, errors):
        built = parts_of(module, f"{what}, {way}")
        if built is not None:
            yield built
    raise Missing(" | ".join(dict.fromkeys(errors)))


def _with_found_inputs(cls: Any) -> Iterator[Built]:
    for way, config, module, what in _modules(cls, []):
        made = Search(module, config).inputs()
        if made is not None:
            yield Built(f"{what}, {way}, its inputs found", module, made)


def _mended(cls: Any) -> Iterator[Built]:
    until = time.process_time() + _SECONDS
    for way in ("small", "scaled"):
        yield from _mended_until(cls, way, until)


def _mended_until(cls: Any, way: str, until: float) -> Iterator[Built]:
    """A model whose settings were mended, one after the other, until some inputs fit."""
    values = cls.config_class().to_dict()
    first = [{**agree(small(values, way), values), **parts} for parts in _intended(cls)]
    pending = [iter(first)]
    seen: List[Dict[str, Any]] = []
    while pending and len(seen) < _MENDS and time.process_time() < until:
        made = next((settings for settings in pending[-1] if settings not in seen), None)
        if made is None:
            pending.pop()
            continue
        seen.append(made)
        try:
            config = cls.config_class(**copy.deepcopy(made))
        except Exception:  # it is refused: the next way to mend the one before
            continue
        wrong: List[BaseException] = []
        built = _running(cls, config, wrong)
        if built is not None:
            yield built._replace(what=f"{built.what}, {way}, settings mended")
            return
        pending.append(_mends(made, config, wrong))


def _intended(cls: Any) -> Iterator[Dict[str, Any]]:
    """The parts that its class means a configuration to have, and those that it has."""
    meant = getattr(cls.config_class, "sub_configs_defaults", {})
    parts = {
        key: {"model_type": spec.model_type, **spec.init_kwargs}
        for key, spec in meant.items()
        if spec.model_type and spec.init_kwargs
    }
    if parts:
        yield parts
    yield {}


def _mends(made: Dict[str, Any], config: Any, wrong: List[Any]) -> Iterator[Dict[str, Any]]:
    for error in wrong:
        yield from mended(made, config, error)


def _running(cls: Any, config: Any, wrong: List[BaseException]) -> Optional[Built]:
    """A model with inputs that it runs with; where there are none, `wrong` is told why."""
    try:
        with torch.device("meta"):
            count = sum(p.numel() for p in cls(config).parameters())
        if count > _LARGEST:
            return None
        module = cls(config)
    except Exception as error:
        wrong.append(error)
        return None
    what = f"{cls.__name__}, {count / 1e6:.1f}M"
    made, complaints = fitting(module, config, 2.0)
    wrong += [one.error for one in sorted(complaints, key=lambda one: -one.reached)]
    return None if made is None else Built(what, module, made)


def _configured(cls: Any, way: str, lacking: Set[str]) -> Tuple[Any, int]:
    """A configuration, and how many parameters its model has."""
    values = cls.config_class().to_dict()
    if way == "filled":
        made = filled(small(values, "small"), values, lacking)
    else:
        made = small(values, way)
    try:
        config = cls.config_class(**made)
        with torch.device("meta"):
            return config, sum(p.numel() for p in cls(config).parameters())
    except AttributeError as error:
        more = lacked(error) - lacking
        if way != "filled" or not more:
            raise
    return _configured(cls, way, lacking | more)


def small(values: Dict[str, Any], way: str) -> Dict[str, Any]:
    """The settings that make a configuration small."""
    if way == "default":
        return {
            key: {**small(value, way), **_kind(value)}
            for key, value in values.items()
            if isinstance(value, dict) and key.endswith("_config") and _kind(value)
        }
    made: Dict[str, Any] = {}
    layers = _layers(values)
    for number, (key, value) in enumerate(values.items()):
        if isinstance(value, dict) and key.endswith("_config"):
            part = small(value, way)
            made[key] = {**part, **_kind({**value, **part})}
        elif key == "backbone_config" and value is None and not values.get("backbone"):
            made[key] = _BACKBONE
        elif key == "backbone_channel_list" and "architecture" in values["backbone_config"]:
            made[key] = channels(made["backbone_config"])
        elif isinstance(value, int) and not isinstance(value, bool):
            made[key] = _number(key, value, values, way, layers, number)
        elif isinstance(value, list):
            made[key] = _list(key, value, values, way, layers)
        elif key == "head_dim" and value is None:  # some divide nothing by it to see that
            made[key] = _head(values, way)
        elif value is None and key in _WITHOUT_DEFAULT:
            made[key] = _WITHOUT_DEFAULT[key]
    rotation = values.get("rope_parameters")
    if isinstance(rotation, dict) and "rope_type" in rotation:
        # Three parts of half a head; those that have none by default may have them in their code.
        head = _head({**values, **_changed(made, values)}, "default")
        if head is not None and ("mrope_section" in rotation or way == "small"):
            part = 3 * head // 16
            sections = [head // 2 - 2 * part, part, part]
            made["rope_parameters"] = {**rotation, "mrope_section": sections}
    return _changed(made, values)


def _changed(made: Dict[str, Any], values: Dict[str, Any]) -> Dict[str, Any]:
    return {k: v for k, v in made.items() if v is not None and v != values.get(k)}


def _kind(value: Dict[str, Any]) -> Dict[str, Any]:
    """What says which configuration this is, of those that may stand here."""
    kind = {"model_type": value["model_type"]} if "model_type" in value else {}
    if value.get("out_features"):  # which a part has of the whole, and not by default
        kind["out_features"] = _stages(value)
    if value.get("backbone"):  # a network of timm's: smaller ones have the same stages
        kind.update(backbone="resnet18", out_indices=value.get("out_indices"))
    if value.get("architecture") and "model_args" in value:  # the same, wrapped
        kind.update(smaller(value))
    return kind


def _stages(value: Dict[str, Any]) -> List[str]:
    """Those of which the outputs are taken: the last ones, where a model has become less deep."""
    wanted: List[str] = value["out_features"]
    depth = value.get("num_hidden_layers")
    if depth is None or all(int("0" + "".join(filter(str.isdigit, w))) <= depth for w in wanted):
        return wanted
    return [f"stage{n}" for n in range(max(1, depth + 1 - len(wanted)), depth + 1)]


def _number(
    key: str, value: int, values: Dict[str, Any], way: str, layers: List[int], number: int
) -> int:
    if key.endswith(("token_id", "token_index")):
        special = value >= 200
        # Above all the tokens that the inputs have; the one for padding is left out of them.
        return (
            (7 if value == values.get("pad_token_id") else 200 + number % 90) if special else value
        )
    if key.endswith("layer_id"):  # one of those that are kept
        return min(value, 1)
    if key in _DEPTHS.split():
        return len(layers) if layers and key == "num_hidden_layers" else min(value, 2)
    if way == "scaled" and _is_width(key) and value % _SCALE == 0 and value >= 64:
        return value // _SCALE
    if key == "patch_size" and value > 200:  # a picture, cut out of a larger one
        key = "image_size"
    if key == "head_dim" and value > values.get("qk_rope_head_dim", value):
        return sum(_number(part, values[part], values, way, layers, number) for part in _HEAD)
    if key == "num_key_value_heads" and value == values.get("num_attention_heads"):
        key = "num_attention_heads"  # what is the same stays the same
    if key.endswith(("vocab_size", "_vocab")):
        return min(value, SIZES["vocab_size"])
    wanted = way == "small" or (way == "scaled" and "expert" in key)
    return min(value, SIZES.get(key, value)) if wanted else value


def _is_width(key: str) -> bool:
    return any(word in key for word in _WIDTHS) and not any(word in key for word in _NO_WIDTHS)


def _head(values: Dict[str, Any], way: str) -> "int | None":
    """The width of an attention's head."""
    if values.get("head_dim"):
        return int(values["head_dim"])
    sizes = [values.get("hidden_size"), values.get("num_attention_heads")]
    if not all(isinstance(size, int) and size for size in sizes):
        return None
    if way != "default":
        for place, key in enumerate(("hidden_size", "num_attention_heads")):
            sizes[place] = _number(key, sizes[place], values, way, [], 0)
    return sizes[0] // sizes[1]


def _layers(values: Dict[str, Any]) -> List[int]:
    """Which layers are kept where lists tell of each layer: one of each kind, and two at least."""
    depth = values.get("num_hidden_layers")
    told = [v for v in values.values() if isinstance(v, list) and len(v) == depth and depth]
    named = [v for v in told if isinstance(v[0], str)]
    if not named:  # numbers, which may have been chosen for their places
        return list(range(depth)) if len(told) > 1 and depth <= _FEW else []
    told = named
    seen = {kinds: number for number, kinds in reversed(list(enumerate(zip(*told))))}
    return sorted({*seen.values(), 0, len(told[0]) - 1})[:_FEW]


def _list(key: str, value: List[Any], values: Dict[str, Any], way: str, layers: List[int]) -> Any:
    if layers and len(value) == values["num_hidden_layers"]:
        return [value[number] for number in layers]
    if key in ("layer_types", "mlp_layer_types", "layers_block_type") and value:
        return value[:2]
    if key in ("depths", "num_blocks"):
        return [1] * len(value)
    if key == "backbone_feature_sizes" and way == "small":  # of an image of 1024 pixels
        return [[side * SIZES["image_size"] // 1024 for side in sides] for sides in value]
    if key.endswith("hook_ids") and way != "default":  # layers, of which two are kept
        return [number % 2 for number in reversed(range(len(value)))]
    if key == "attention_window":
        return [8, 8]
    if key == "axial_pos_shape" and value:  # Reformer's positions: their product is a length
        return [4, 4]
    if key == "attention_types" and value:  # GPT-Neo's way to say how many layers there are
        return [[["global", "local"], 1]]
    whole = all(isinstance(item, int) and item >= 16 and item % _SCALE == 0 for item in value)
    if way == "scaled" and _is_width(key) and whole:
        return [item // _SCALE for item in value]
    return None

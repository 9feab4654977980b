# SPDX-License-Identifier: Apache-2.0
"""Configurations mended by what goes wrong with them, where no rule made one that works.

`agree` sets what must go together: how many experts see a token and how many there are, layers that
are named by number, the parts of a rotation. `mended` reads one error and changes the settings that
it is about: those that the failing code reads and that are open, or that have the size that it
complains of.
"""

import contextlib
import inspect
import re
import traceback
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .fitted import agreeing

Values = Dict[str, Any]
Path = Tuple[str, ...]
# The value of a setting that is open, by what its name has in it; the first that fits.
_BY_NAME: Tuple[Tuple[str, Any], ...] = (
    (r"vocab", 300),
    (r"token_id$", 1),
    (r"(layer|stage)_(ids|indices|indexes)$", [0]),
    (r"per_tok|top_?k", 2),
    (r"(kv|key_value)_heads", 1),
    (r"shared_experts", 1),
    (r"expert|heads$", 4),
    (r"head_dim|kv_channels", 16),
    (r"rank", 32),
    (r"dim|size|width|channels|hidden", 64),
    (r"ratio|stride|factor|layers|depth", 2),
    (r"budget|window|length|block", 8),
    (r"group", 1),
)
_TOKENS = 300
_FIRST_SPECIAL = 250  # above all the tokens that inputs have
_NARROWEST = 4
_MANY = 4  # widths of a part that change together
# Counts of experts that see a token, and of groups of experts; and of experts.
_CHOSEN = r"expert.*per_tok|moe_top_?k|top_?k_expert|experts?_top_?k|expert_group|n_group|num_group"
_EXPERTS = r"^(n|num)_\w*experts$"
_SHARING = r"shared_layers$"  # how many of the last layers share what those before them made
_WIDTH = r"dim|size|width|channels|hidden"
_PLAIN_ROTATION = {"rope_type": "default", "rope_theta": 10000.0}


def agree(made: Values, values: Values) -> Values:
    """The settings in `made`, changed where they do not go together."""
    found = dict(made)
    for key, value in values.items():
        now = found.get(key, value)
        if isinstance(value, dict) and key.endswith("_config"):
            part = agree(found.get(key) or {}, value)
            if part:
                found[key] = part
        elif isinstance(value, int) and not isinstance(value, bool):
            if re.search(_CHOSEN, key):
                found[key] = min(now, 2)
            elif key.startswith("vocab_size_"):
                found[key] = min(now, _TOKENS)
            elif re.search(_SHARING, key):
                found[key] = min(now, 1)
            elif key.startswith("topk_group"):
                found[key] = 1
            elif re.search(_EXPERTS, key) and "shared" not in key:
                found[key] = min(now, 4)
            elif key.startswith("linear_") and key.endswith(("heads", "head_dim")):
                found[key] = min(now, 16 if key.endswith("dim") else 4)
            elif key.endswith("token_id") and value < (values.get("vocab_size") or 0) <= _TOKENS:
                found[key] = value  # the vocabulary is as it was
        elif isinstance(value, list) and value == list(range(values.get("num_hidden_layers", -1))):
            found[key] = list(range(found.get("num_hidden_layers", len(value))))
    rotation = found.get("rope_parameters", values.get("rope_parameters"))
    kinds = found.get("layer_types", values.get("layer_types"))
    if rotation == {} and kinds:
        found["rope_parameters"] = {kind: dict(_PLAIN_ROTATION) for kind in kinds}
    elif isinstance(rotation, dict) and "mrope_section" in rotation:
        share = rotation.get("partial_rotary_factor", 1)
        half = int(_head({**values, **found}) * share) // 2
        part = 3 * half // 8
        sections = [half - 2 * part, part, part]
        found["rope_parameters"] = {**rotation, "mrope_section": sections}
    return found


def _head(values: Values) -> int:
    return int(
        values.get("head_dim") or values["hidden_size"] // max(1, values["num_attention_heads"])
    )


def mended(made: Values, config: Any, error: BaseException) -> Iterator[Values]:
    """Settings with which the error may be another one; `config` is what `made` made."""
    words = [(path, value) for path, value in _numbers(config) if path[-1] == "vocab_size"]
    largest = max((value for _, value in words), default=0)
    fewer = [path for path, value in words if value < largest]
    if "index out of range in self" in str(error) and fewer:  # what one part writes another reads
        yield _all(made, fewer, largest)
    if "no tensor comes out" in str(error):
        yield from _lower(made, config)
    if "invalid for input of size" in str(error):
        yield from _whole_patches(made, config)
    rates = {path: value for path, value in _numbers(config) if path[-1].endswith("sample_rate")}
    if "Sizes of tensors must match" in str(error) and len({*rates.values()}) > 1:
        yield _all(made, list(rates), min(rates.values()))  # one sound, heard in two ways
    yield from _named(made, config, error)
    if isinstance(error, IndexError):  # fewer stages than are wanted
        for path, part in _parts(config, ()):
            if getattr(part, "stage_names", None):
                yield _with(made, (*path, "out_features"), list(part.stage_names[-4:]))
        for path in fewer:
            yield _with(made, path, largest)
    for got, want in agreeing(error):
        if min(got, want) < _NARROWEST:  # a size of the inputs
            continue
        alike = [path for path, value in _numbers(config) if value == want and _is_width(path)]
        for part in dict.fromkeys(path[:-1] for path in alike):
            of_part = [path for path in alike if path[:-1] == part]
            if len(of_part) >= _MANY:  # one part's work on another's
                yield _all(made, of_part, got)
        for path, value in _near(config, error):
            # A list may have the size more than once: all of a kind change together.
            if isinstance(value, tuple) and want in value:
                yield _with(made, path, [got if item == want else item for item in value])
            elif value == want and _is_width(path):
                yield _with(made, path, got)
        yield from _wider_heads(made, config, min(got, want), max(got, want))


def _is_width(path: Path) -> bool:
    return bool(re.search(_WIDTH, path[-1])) and "num_" not in path[-1]


def _lower(made: Values, config: Any) -> Iterator[Values]:
    """All that a score is to exceed, lower, and fewer that have scores.

    Weights that nobody trained give middling ones, all of which then are above.
    """
    found = made
    for path, part in _parts(config, ()):
        for key, value in vars(part).items():
            if "thresh" in key and isinstance(value, float) and value > 0:
                found = _with(found, (*path, key), value / 4)
            elif key == "num_queries":
                found = _with(found, (*path, key), 2)
    if found != made:
        yield found


def _whole_patches(made: Values, config: Any) -> Iterator[Values]:
    """Pictures that are cut into patches without a rest."""
    sizes = list(_numbers(config))
    patches = {v for path, v in sizes if path[-1] == "patch_size" and isinstance(v, int)}
    pictures = [(path, v) for path, v in sizes if path[-1] == "image_size" and isinstance(v, int)]
    for patch in patches:
        cut = [path for path, value in pictures if value > patch and value % patch]
        for value in {value // patch * patch for path, value in pictures if path in cut}:
            yield _all(made, cut, value)


def _wider_heads(made: Values, config: Any, narrow: int, wide: int) -> Iterator[Values]:
    """Fewer heads, each as wide as what is laid on it, in all parts whose heads are too narrow."""
    times, rest = divmod(wide, narrow)
    found = made
    for path, part in _parts(config, ()):
        width, heads = (getattr(part, key, None) for key in ("hidden_size", "num_attention_heads"))
        known = isinstance(width, int) and isinstance(heads, int) and not rest
        if known and width == narrow * heads and heads % times == 0:
            found = _with(found, (*path, "num_attention_heads"), heads // times)
    if found != made:
        yield found


def _near(config: Any, error: BaseException) -> Iterator[Tuple[Path, Any]]:
    """The sizes in a configuration, those that the failing code reads first."""
    every = list(_numbers(config))
    for frame, number, part, path in _frames(config, error):
        for text in _around(frame, number, frame.f_locals.get("self")):
            for place in _read(part, text):
                yield from (size for size in every if size[0] == (*path, *place[0]))
    yield from every


def _named(made: Values, config: Any, error: BaseException) -> Iterator[Values]:
    """Fill the open settings that the code around the error reads, from the narrowest part out."""
    missing = re.fullmatch(r"'(\w+)'", str(error)) if isinstance(error, KeyError) else None
    lacking = re.search(r"Config' object has no attribute '(\w+)'", str(error))
    for frame, number, part, path in _frames(config, error):
        if lacking:
            value = _value(lacking[1])
            if value is not None:
                yield _with(made, (*path, lacking[1]), value)
        for text in _around(frame, number, frame.f_locals.get("self")):
            read = list(_read(part, text))
            filled = [
                ((*path, *where), value)
                for where, open_value in read
                if open_value is None
                for where, value in _filling(where, part, frame, error)
                if value is not None
            ]
            if len(filled) > 1:  # some are refused but all together
                together = made
                for where, value in filled:
                    together = _with(together, where, value)
                yield together
            for where, value in filled:
                yield _with(made, where, value)
            for where, value in read:
                if missing and isinstance(value, dict) and missing[1] not in value:
                    yield _keyed(made, (*path, *where), value, missing[1])


def _filling(
    where: Path, part: Any, frame: Any, error: BaseException
) -> Iterator[Tuple[Path, Any]]:
    """What an open setting may be, with what goes with it."""
    *outer, key = where
    kinds = _layer_kinds(frame) if key == "layer_types" else []
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    asked = re.findall(r"""\.get\(["'](.+?)["']\)""", line)
    if kinds:  # two layers of each, as some are told apart by their places too
        yield where, kinds * 2
        yield (*outer, "num_hidden_layers"), 2 * len(kinds)
    elif asked and not outer and "dict" in _declared(part, key):
        yield where, {word: _FIRST_SPECIAL + number for number, word in enumerate(asked)}
    else:
        yield where, _first_of(part, where) or _value(key)


def _declared(part: Any, key: str) -> str:
    """The type that a configuration class writes down for a setting, as text."""
    field = getattr(type(part), "__dataclass_fields__", {}).get(key)
    return "" if field is None else str(field.type)


def _layer_kinds(frame: Any) -> List[str]:
    """The kinds of layers that the code of a module tells apart."""
    from transformers import configuration_utils

    known = getattr(configuration_utils, "ALLOWED_ATTN_LAYER_TYPES", ())
    with contextlib.suppress(OSError, TypeError):
        text = inspect.getsource(inspect.getmodule(frame.f_code))
        return [kind for kind in known if f'"{kind}"' in text]
    return []


def _frames(config: Any, error: BaseException) -> Iterator[Tuple[Any, int, Any, Path]]:
    """The calls that an error came through, the last first, each with the part that it works by."""
    trace = error.__traceback__
    frames: List[Any] = []
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    for frame, number in reversed(frames):
        owner = frame.f_locals.get("self")
        part = frame.f_locals.get("config", getattr(owner, "config", None))
        path = _path(config, part)
        if path is not None:
            yield frame, number, part, path


def _read(part: Any, text: str) -> Iterator[Tuple[Path, Any]]:
    """The settings that a text of code reads."""
    for dotted in dict.fromkeys(re.findall(r"\b(?:(?:self\.)?config|self)((?:\.\w+)+)", text)):
        place = _resolved(part, dotted.split(".")[1:])
        if place is not None:
            yield place


def _around(frame: Any, number: int, owner: Any) -> Iterator[str]:
    """The failing line, its function, and its class."""
    with contextlib.suppress(OSError, TypeError):
        lines, first = inspect.getsourcelines(frame.f_code)
        yield lines[number - first] if 0 <= number - first < len(lines) else ""
        yield "".join(lines)
    if owner is not None:
        with contextlib.suppress(OSError, TypeError):
            yield inspect.getsource(type(owner))


def _resolved(part: Any, names: List[str]) -> Optional[Tuple[Path, Any]]:
    """The setting that a dotted name reads, by the name that it is kept under, with its value."""
    where: List[str] = []
    for name in names:
        name = getattr(type(part), "attribute_map", {}).get(name, name)
        if not hasattr(part, "to_dict") or name not in vars(part):
            break
        where.append(name)
        part = getattr(part, name)
    if not where or hasattr(part, "to_dict"):
        return None
    return tuple(where), part


def _keyed(made: Values, path: Path, value: Values, key: str) -> Values:
    """The settings with one more key in a dictionary that has it not."""
    if "rope" in path[-1]:
        return _with(made, path, {**value, key: dict(_PLAIN_ROTATION)})
    if path[-1] == "model_args":  # a network of timm's that is asked for its width: a transformer
        network = {"embed_dim": 64, "depth": 2, "num_heads": 4, "img_size": 64}
        changed = _with(made, path, network)
        return _with(changed, (*path[:-1], "architecture"), "vit_tiny_patch16_224")
    return _with(made, path, {**value, key: _value(key)})


def _first_of(part: Any, where: Path) -> Any:
    """The first of those that a default may be one of: of `languages` for `default_language`."""
    kind = re.fullmatch(r"default_(\w+)", where[-1])
    listed = getattr(part, f"{kind[1]}s", None) if kind and len(where) == 1 else None
    return listed[0] if listed and isinstance(listed, (list, tuple)) else None


def _value(name: str) -> Any:
    return next((value for words, value in _BY_NAME if re.search(words, name)), None)


def _parts(config: Any, before: Path) -> Iterator[Tuple[Path, Any]]:
    """A configuration and those in it, with where they are."""
    yield before, config
    for key, value in vars(config).items():
        if hasattr(value, "to_dict"):
            yield from _parts(value, (*before, key))


def _path(config: Any, part: Any) -> Optional[Path]:
    return next((path for path, other in _parts(config, ()) if other is part), None)


def _numbers(config: Any) -> Iterator[Tuple[Path, Any]]:
    """All sizes in a configuration, with where they are."""
    for path, part in _parts(config, ()):
        for key, value in vars(part).items():
            if isinstance(value, (int, list, tuple)) and not isinstance(value, bool):
                yield (*path, key), tuple(value) if isinstance(value, list) else value


def _all(made: Values, paths: List[Path], value: Any) -> Values:
    for path in paths:
        made = _with(made, path, value)
    return made


def _with(made: Values, path: Path, value: Any) -> Values:
    """A copy of the settings in which the one at a path is another."""
    key, *rest = path
    if not rest:
        return {**made, key: value}
    return {**made, key: _with(made.get(key) or {}, tuple(rest), value)}

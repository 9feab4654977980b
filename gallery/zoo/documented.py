# SPDX-License-Identifier: Apache-2.0
"""What the documentation of a `forward` says of the tensors that it takes: their kinds and shapes.

The library writes down a shape for nearly every parameter, as in ``(batch_size, sequence_length,
hidden_size)``; the words mean settings of the configuration, or lengths that anyone may choose.
"""

import re
from typing import Any, Dict, List, NamedTuple, Tuple

import torch

from .inputs import MEL, TOKENS, Settings

_ENTRY = re.compile(r"^\s*(\w+) \(`([^`\n]+)`(?:,? of shape `([^`\n]+)`)?", re.M)
_SIDE = 4  # patches of a picture in each direction
_PATCHES = _SIDE * _SIDE
# How long a series of this name is, where its documentation only says that it has a length.
_LENGTHS = (("input_values", 4000), ("input_features", 200), ("padding_mask", 4000))
_WORDS = {
    "dim": "hidden_size d_model dim embed_dim",
    "hidden_dim": "hidden_size d_model",
    "channels": "num_channels in_channels",
    "height": "image_size",
    "width": "image_size",
    "frame_size": "image_size",
    **dict.fromkeys(("feature_dim", "feature_size", "mel_bins", "num_mel_bins"), MEL),
}
_CHOSEN = {"num_channels": 3, "image_size": 64, "height": 64, "width": 64, "frame_size": 64}


class Tensor(NamedTuple):
    """How one tensor is made: what its numbers mean, and its shape."""

    kind: str
    shape: Tuple[int, ...]

    def make(self, known: Settings) -> Any:
        """Return a new one."""
        if self.kind == "one":
            return 1
        if self.kind == "tokens":
            return known.ids(*self.shape)
        if self.kind == "few":
            return torch.randint(0, 2, self.shape)
        if self.kind == "ones":
            return torch.ones(*self.shape, dtype=torch.long)
        if self.kind == "marks":  # some, whatever it is that they mark
            return torch.arange(self.shape[-1]).remainder(2).bool().expand(self.shape).clone()
        if self.kind == "grid":  # pictures of one moment, as high as wide
            return torch.tensor([[1, _SIDE, _SIDE]]).repeat(self.shape[0], 1)
        if self.kind == "sides":
            return torch.full(self.shape, _SIDE)
        if self.kind == "places":
            places = [[number % _SIDE, number // _SIDE] for number in range(_PATCHES)]
            return torch.tensor(places).repeat(self.shape[0], 1, 1)
        return torch.randn(*self.shape)


def documented(module: Any, known: Settings, batch: int) -> Dict[str, Tensor]:
    """The tensors that the `forward` of a module takes, by name."""
    found: Dict[str, Tensor] = {}
    said = {name: rest for name, *rest in _ENTRY.findall(type(module).forward.__doc__ or "")}
    patched = any(kind_of(name, "", 2) in ("grid", "sides", "places") for name in known.required)
    for name in known.parameters:
        what, shape = said.get(name, ("", ""))
        if patched and name.startswith("pixel") and kind_of(name, what, 0) in ("numbers", "ones"):
            found[name] = _of_patches(name, what, known, batch)
        elif "Tensor" in what and shape and not what.startswith(("list", "tuple", "dict")):
            sizes = _sizes(name, shape, known, batch)
            if sizes:
                found[name] = Tensor(kind_of(name, what, sizes[-1]), sizes)
        if name not in found and (name in known.required or (name == "frame" and what)):
            found[name] = _by_name(name, what, known, batch)
    return found


def kind_of(name: str, what: str, last: int) -> str:
    """What the numbers of a tensor mean, by its name, its type, and the last of its sizes."""
    if what == "int":
        return "one"
    if name.endswith("grid_thw"):
        return "grid"
    if name in ("spatial_shapes", "target_sizes"):
        return "sides"
    if name.endswith("position_ids") and last == 2 and name != "position_ids":
        return "places"
    if "mask" in name or name == "is_longer" or name.endswith("merge_sizes"):
        return "ones"
    if name.endswith("_ids") or "Long" in what or "Int" in what:
        return "tokens"
    return "numbers"


def _of_patches(name: str, what: str, known: Settings, batch: int) -> Tensor:
    """A picture cut into patches, each a row; in one heap where a grid tells them apart."""
    side = known.pair("patch_size", 14)[0]
    times = known.pair("temporal_patch_size", 1)[0]
    wide = known.get("num_channels", known.get("in_channels", 3)) * side * side * times
    heap = any(kind_of(other, "", 2) == "grid" for other in known.required)
    rows = (batch * _PATCHES,) if heap else (batch, _PATCHES)
    kind = kind_of(name, what, 0)
    return Tensor(kind, rows if kind == "ones" else (*rows, wide))


def _by_name(name: str, what: str, known: Settings, batch: int) -> Tensor:
    """What a parameter most likely is of which no shape is written down."""
    wide = next(iter(known.all("hidden_size d_model embed_dim dim")), 64)
    kind = kind_of(name, what, 2)
    rows: Dict[str, Tuple[int, ...]] = {
        "pixel_values": (batch, 3, 64, 64),
        "frame": (1, 3, *known.pair("image_size", 64)),
        "input_values": (batch, 4000),
        "pixel_position_ids": (batch, _PATCHES, 2),
    }
    shapes: Dict[str, Tuple[int, ...]] = {
        "numbers": (batch, TOKENS, wide),
        "grid": (batch, 3),
        "sides": (batch, 2),
        "one": (),
    }
    return Tensor(kind, rows.get(name, shapes.get(kind, (batch, TOKENS))))


def _sizes(name: str, shape: str, known: Settings, batch: int) -> Tuple[int, ...]:
    """The numbers that a written shape stands for, or none where it cannot be read."""
    found: List[int] = []
    for part in re.split(r",(?![^()]*\)[^)]*$)", shape.strip("()[] ")):
        word = part.strip("()[] ")
        if word:
            found.append(_size(name, word, known, batch))
    return tuple(found)


def _size(name: str, word: str, known: Settings, batch: int) -> int:
    product = 1
    for factor in word.split("*"):
        factor = factor.split("+")[0].strip().replace("config.", "")
        if factor.isdigit():
            product *= int(factor)
        elif factor.startswith("len("):
            listed = known.get(factor[4:].rstrip(")"), [0])
            product *= len(listed) if isinstance(listed, (list, tuple)) else 1
        else:
            product *= _word(name, factor, known, batch)
    return product


def _word(name: str, word: str, known: Settings, batch: int) -> int:
    if word in ("batch_size", "num_images", "num_videos", "num_images_or_videos", "batch"):
        return batch
    if word in ("max_patches", "num_patches", "max_num_patches"):
        return _PATCHES
    settings = known.all(_WORDS.get(word, word))
    if settings:
        return settings[0]
    if word in _CHOSEN:
        return known.pair("image_size", 64)[0] if word != "num_channels" else _CHOSEN[word]
    if word in _WORDS:
        return 64
    return next((long for start, long in _LENGTHS if name.startswith(start)), TOKENS)

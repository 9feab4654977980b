# SPDX-License-Identifier: Apache-2.0
"""Networks of timm: how they are made small, alone and as a part of a model of transformers."""

import contextlib
import functools
import json
from typing import Any, Dict, List

import torch

# How timm's models are told how many layers they have, in all or in each of their stages.
SHALLOW: List[Dict[str, Any]] = [{"depths": (1,) * 4}, {"layers": (1,) * 4}, {"depth": 2}]
# Some have their layers in a table, and are told only how wide they are.
_SMALLER: List[Dict[str, Any]] = [*SHALLOW, {"channel_multiplier": 0.25}]
_LARGE = 50_000_000  # parameters


def channels(backbone: Dict[str, Any]) -> List[int]:
    """The widths of what a network gives, the last first."""
    import timm

    network = timm.create_model(backbone["architecture"], **backbone["model_args"])
    return list(reversed(network.feature_info.channels()))


def smaller(value: Dict[str, Any]) -> Dict[str, Any]:
    """What says in a configuration which network it is, changed to a smaller one of its kind."""
    kind = {"num_classes": value.get("num_classes", 2), "architecture": value["architecture"]}
    arguments = value.get("model_args") or {}
    if arguments.get("features_only"):
        return {**kind, "architecture": "convnext_atto", "model_args": arguments}
    options = _options(kind["architecture"], json.dumps(arguments))
    return {**kind, "model_args": {**arguments, **options}}


@functools.lru_cache(maxsize=None)
def _options(architecture: str, arguments: str) -> Dict[str, Any]:
    """The first of the ways to be smaller that a network takes, where it is large."""
    given = json.loads(arguments)
    for options in [{}, *_SMALLER]:
        with contextlib.suppress(Exception):  # it has no such setting, or another use for it
            count = _size(architecture, {**given, **options})
            if options or count <= _LARGE:
                return options
    return {}


def _size(architecture: str, arguments: Dict[str, Any]) -> int:
    import timm

    with torch.device("meta"):
        network = timm.create_model(architecture, pretrained=False, **arguments)
    return sum(p.numel() for p in network.parameters())

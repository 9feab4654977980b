# SPDX-License-Identifier: Apache-2.0
"""What configurations of transformers leave open by default, and checkpoints say.

A configuration class may have None, nothing or an empty list where its model needs a value. The
values here make the smallest model that has all of its parts.
"""

import re
from typing import Any, Dict, Set

# By the setting's name; only where it is open.
_OPEN: Dict[str, Any] = {
    "image_token_index": 250,
    "moe_intermediate_size": 64,
    "num_experts": 4,
    "projector_scale_factors": [1.0],
    "sliding_window": 8,
    "top_k_experts": 2,
    "video_token_index": 251,
}
# What models ask for that their configurations do not have.
_LACKING: Dict[str, Any] = {"dropout_rate": 0.0, "num_key_value_heads": 4, "num_hidden_layers": 2}


def filled(made: Dict[str, Any], values: Dict[str, Any], lacking: Set[str]) -> Dict[str, Any]:
    """The settings in `made`, and those that the defaults in `values` leave open."""
    found = {key: _OPEN[key] for key, value in values.items() if key in _OPEN and not value}
    found.update({key: _LACKING[key] for key in lacking if key not in values})
    for key, value in values.items():
        if isinstance(value, dict) and key.endswith("_config") and "model_type" in value:
            found[key] = filled(made.get(key, {}), value, lacking)
    if "num_queries" in values:  # no more than there are places in a small picture
        found["num_queries"] = 8
    rotation = made.get("rope_parameters", {})
    if "mrope_section" in rotation:  # some name the parts the other way around
        sections = list(reversed(rotation["mrope_section"]))
        found["rope_parameters"] = {**rotation, "mrope_section": sections}
    return {**made, **found}


def lacked(error: BaseException) -> Set[str]:
    """The setting that a model asked for, if that was the error and it is known here."""
    found = re.search(r"Config' object has no attribute '(\w+)'", str(error))
    return {found[1]} & set(_LACKING) if found else set()

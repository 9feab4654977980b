# SPDX-License-Identifier: Apache-2.0
"""What a model of transformers is called with, by the names of its `forward`'s parameters."""

import inspect
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch

from .built import Inputs

TOKENS = 16
MEL = """num_mel_bins feature_size input_feat_per_channel feature_projection_input_dim input_dim
    n_mels mel_bins"""


def inputs_of(module: Any, config: Any) -> Iterator[Inputs]:
    """Yield functions that make keyword arguments; the caller takes the first that the model runs.

    The commonest kind of input comes first.
    """
    known = Settings(module, config)
    main = getattr(module, "main_input_name", "input_ids")
    main = main if isinstance(main, str) else main[0]
    ways = _WAYS.get(main, _WAYS["input_ids"]) if main in known.taken else []
    required = [name for name in known.required if name != main or name not in _WAYS]
    # A tower inside a model says what it takes only by what has no default.
    towers = [name for name in required if name in ("hidden_states", "inputs_embeds", "latents")]
    for way in (*ways, *(way for name in towers for way in _WAYS[name])):
        for made in way(known):
            yield made
            if "use_cache" in known.taken:
                yield lambda made=made: {**made(), "use_cache": False}
    others = [name for name in required if name in _WAYS]
    if others and main in _WAYS:
        yield lambda: {k: v for n in (main, *others) for k, v in _first(n, known).items()}
    for name in others:
        yield lambda name=name: _first(name, known)
    if hasattr(module, "dummy_inputs"):
        yield lambda: dict(module.dummy_inputs)


def _first(name: str, known: "Settings") -> Dict[str, Any]:
    return next(iter(_WAYS[name][0](known)))()


def required(function: Any) -> List[str]:
    """The parameters of a function that have no default, but the object that a method is of."""
    return [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is parameter.empty and parameter.kind not in (2, 4) and name != "self"
    ]


class Settings:
    """What a configuration, and the parts that it has, say of the inputs."""

    def __init__(self, module: Any, config: Any) -> None:
        parameters = inspect.signature(module.forward).parameters
        self.parameters = list(parameters)
        self.taken = frozenset(parameters)
        self.required = required(module.forward)
        self._parts = [config, *(v for v in vars(config).values() if hasattr(v, "to_dict"))]
        self.vocabulary = max(12, min(int(self.get("vocab_size", 300)), 300))

    def get(self, key: str, default: Any) -> Any:
        """The setting of this name, of the outermost part that has it."""
        found = [getattr(part, key, None) for part in self._parts]
        return next((v for v in found if isinstance(v, (int, list, tuple))), default)

    def all(self, keys: str) -> List[int]:
        """The numbers that settings of these names have."""
        found = [getattr(part, key, None) for part in self._parts for key in keys.split()]
        return list(dict.fromkeys(v for v in found if isinstance(v, int)))

    def ids(self, *shape: int) -> torch.Tensor:
        """Tokens, none of which is special."""
        return torch.randint(8, max(10, self.vocabulary - 150), shape or (2, TOKENS))

    def pair(self, key: str, default: int) -> Tuple[int, int]:
        """A height and a width."""
        size = self.get(key, default)
        return (size[0], size[1]) if isinstance(size, (list, tuple)) else (size, size)

    def only(self, made: Dict[str, Any]) -> Dict[str, Any]:
        """Those that `forward` takes."""
        return {key: value for key, value in made.items() if key in self.taken}


def _text(known: Settings) -> Iterator[Inputs]:
    def text() -> Dict[str, Any]:
        mask = torch.ones(2, TOKENS, dtype=torch.long)
        made = {"input_ids": known.ids(), "attention_mask": mask}
        others = ("decoder_input_ids", "qformer_input_ids")
        return known.only({**made, **{name: known.ids() for name in others}})

    yield text
    yield lambda: {"input_ids": known.ids()}
    # A classifier without a padding token takes one text at a time.
    yield lambda: _one(text())
    if "bbox" in known.taken:  # where on a page each token stands
        yield lambda: {**text(), "bbox": torch.rand(2, TOKENS, 4)}
    for pixels in (_images, _videos):
        for shown in pixels(known):
            yield lambda shown=shown: {**text(), **shown()}
    for heard in _waves(known) if "input_values" in known.taken else ():
        yield lambda heard=heard: known.only({**_one(text()), **heard()})
    for books in known.all("num_codebooks num_channels n_codebooks"):
        # Sound as tokens of several books; of a decoder's alone where the encoder reads text.
        for shape in ((1, TOKENS, books), (1, books, TOKENS)):
            yield lambda shape=shape: known.only(
                {"input_ids": known.ids(1, TOKENS), "decoder_input_ids": known.ids(*shape)}
            )
            yield lambda shape=shape: {"input_ids": known.ids(*shape)}
        yield lambda books=books: {"input_ids": known.ids(1, TOKENS, 1 + books)}  # and of text


def _one(batch: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    return {key: value[:1] for key, value in batch.items()}


def _illustrated(known: Settings) -> Iterator[Inputs]:
    """Text with as many tokens for pictures in front as the pictures are worth."""
    tokens = known.all("image_token_id image_token_index video_token_id video_token_index")
    frames = known.get("num_frames", 2)
    for count in known.all("num_query_tokens mm_tokens_per_image"):
        for token in tokens:
            for pixels, times in ((_pixels, 1), (_videos, frames)):

                def made(token=token, wide=count * times, pixels=pixels) -> Dict[str, Any]:
                    shown = next(iter(pixels(known)))()
                    batch = len(next(iter(shown.values())))
                    front = torch.full((batch, wide), token)
                    ids = torch.cat([front, known.ids(batch, TOKENS)], 1)
                    others = {"qformer_input_ids": known.ids(batch, TOKENS)}
                    mask = {"attention_mask": torch.ones_like(ids)}
                    return {**shown, "input_ids": ids, **known.only({**others, **mask})}

                yield made


def _pixels(known: Settings) -> Iterator[Inputs]:
    grid = next((name for name in known.required if name.endswith("grid_thw")), "")
    if grid:
        for patches in _patches(known):
            yield lambda patches=patches: {"pixel_values": patches()["hidden_states"], grid: _GRID}
        # Patches as they are, those that will be merged in one.
        side = known.get("patch_size", 14) * known.get("spatial_merge_size", 1)
        yield lambda: {"pixel_values": torch.randn(16, side, side, 3), grid: _GRID}
    yield from _images(known)
    if "input_ids" in known.taken:
        yield lambda: {**next(iter(_text(known)))(), **next(iter(_pixels(known)))()}


def _images(known: Settings) -> Iterator[Inputs]:
    channels = known.get("num_channels", known.get("in_channels", 3))
    sizes = [known.pair("image_size", 64), (64, 64), (224, 224), (256, 256)]
    for height, width in dict.fromkeys(sizes if "pixel_values" in known.taken else []):
        yield lambda size=(height, width): {"pixel_values": torch.randn(2, channels, *size)}


def _videos(known: Settings) -> Iterator[Inputs]:
    channels = known.get("num_channels", 3)
    frames = known.get("num_frames", known.get("frames_per_clip", 2))
    for name in ("pixel_values_videos", "pixel_values"):
        for size in dict.fromkeys([known.pair("image_size", 64), (336, 336)]):
            if name in known.taken:
                shape = (1, frames, channels, *size)
                yield lambda name=name, shape=shape: {name: torch.randn(*shape)}


def _spectrogram(known: Settings) -> Iterator[Inputs]:
    def made(features: torch.Tensor) -> Dict[str, Any]:
        tokens = known.ids(len(features), TOKENS)
        return known.only({"input_features": features, "decoder_input_ids": tokens})

    bands = [*known.all(MEL), 80]
    # Two or four frames may stand in one.
    for mel in dict.fromkeys(times * mel for times in (1, 2, 4) for mel in bands):
        for shape in ((1, mel, 200), (1, 60, mel), (1, mel, 3000)):
            yield lambda shape=shape: made(torch.randn(*shape))


def _waves(known: Settings) -> Iterator[Inputs]:
    yield lambda: {"input_values": torch.randn(1, 4000)}
    yield lambda: {"input_values": torch.randn(1, 1, 4000)}
    if "decoder_input_ids" in known.taken:

        def heard() -> Dict[str, Any]:
            values = torch.randn(1, 4000)
            mask = torch.ones(1, 4000, dtype=torch.long)
            tokens = known.ids(1, TOKENS)
            return {"input_values": values, "attention_mask": mask, "decoder_input_ids": tokens}

        yield heard
    for mel in [*known.all(MEL), 80]:

        def made(mel: int = mel) -> Dict[str, Any]:
            values = torch.randn(1, 32, mel)
            return known.only({"input_values": values, "decoder_input_values": values})

        yield made


def _heard_and_seen(known: Settings) -> Iterator[Inputs]:
    """Sound with a video."""
    for shown in _videos(known):
        yield lambda shown=shown: {"input_values": torch.randn(1, 1, 4000), **shown()}


def _series(known: Settings) -> Iterator[Inputs]:
    """A series of the past, and what is known of the future where a model asks for it."""
    context = known.get("context_length", 32)
    lags = known.get("lags_sequence", [0])
    before = context + (max(lags) if lags else 0)
    times, after = known.get("num_time_features", 0), known.get("prediction_length", 4)
    wide = known.get("num_input_channels", known.get("input_size", 1))

    def series(*last: int) -> Dict[str, Any]:
        made = {
            "past_values": torch.randn(2, before, *last),
            "past_time_features": torch.randn(2, before, times),
            "past_observed_mask": torch.ones(2, before, *last),
            "past_values_padding": torch.zeros(2, before, *last),
            "freq": torch.zeros(2, 1, dtype=torch.long),
            "future_values": torch.randn(2, after, *last),
            "future_time_features": torch.randn(2, after, times),
        }
        return {k: v for k, v in known.only(made).items() if k in known.required}

    yield series
    yield lambda: series(wide)
    yield lambda: {"past_values": [torch.randn(64), torch.randn(48)]}


def _patches(known: Settings) -> Iterator[Inputs]:
    """The patches of one image in a row, with how many there are in each direction."""
    side = known.get("patch_size", 14)
    deep = known.get("in_channels", known.get("num_channels", 3))
    for times in dict.fromkeys([known.get("temporal_patch_size", 1), 1, 2]):
        wide = deep * times * side * side
        yield lambda wide=wide: {"hidden_states": torch.randn(16, wide), "grid_thw": _GRID}


_GRID = torch.tensor([[1, 4, 4]])


def _trajectory(known: Settings) -> Iterator[Inputs]:
    """States, actions and rewards over time."""

    def made() -> Dict[str, Any]:
        return {
            "states": torch.randn(2, 8, known.get("state_dim", 17)),
            "actions": torch.randn(2, 8, known.get("act_dim", 4)),
            "rewards": torch.randn(2, 8, 1),
            "returns_to_go": torch.randn(2, 8, 1),
            "timesteps": torch.arange(8).repeat(2, 1),
        }

    yield made


def _latents(known: Settings) -> Iterator[Inputs]:
    for wide in known.all("hidden_size d_model codebook_dim latent_dim dim"):
        for name in ("inputs_embeds", "latents"):
            for shape in ((2, TOKENS, wide), (2, wide, TOKENS)):
                if name in known.required:
                    yield lambda n=name, shape=shape: {n: torch.randn(*shape)}


def _rows(known: Settings) -> Iterator[Inputs]:
    yield lambda: {"inputs": torch.randn(2, TOKENS, known.get("d_model", 64))}


_WAYS: Dict[str, List[Callable[[Settings], Iterator[Inputs]]]] = {
    "input_ids": [_text],
    "pixel_values": [_pixels, _videos, _illustrated],
    "pixel_values_videos": [_videos],
    "input_features": [_spectrogram],
    "input_values": [_waves, _heard_and_seen],
    "inputs": [_rows],
    "past_values": [_series],
    "hidden_states": [_patches],
    "states": [_trajectory],
    "inputs_embeds": [_latents],
    "latents": [_latents],
}

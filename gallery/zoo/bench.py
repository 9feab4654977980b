# SPDX-License-Identifier: Apache-2.0
"""Small networks for what TorchBench has as programs of its own, which no package index has.

Each is written after the paper that the program implements, not after the program: the kinds of
layers and the way values flow are those of the paper, the sizes are not.
"""

from typing import Any, Callable, Dict, List, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Small(NamedTuple):
    """What a name stands for, the module, and a function that makes its positional arguments."""

    what: str
    make: Callable[[], nn.Module]
    arguments: Callable[[], List[Any]]


def _conv(inside: int, out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(True)
    )


class Discriminator(nn.Module):
    """The discriminator of DCGAN (Radford et al. 2016)."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        layers: List[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True)]
        for factor in (1, 2, 4):
            layers += [
                nn.Conv2d(width * factor, width * factor * 2, 4, 2, 1, bias=False),
                nn.BatchNorm2d(width * factor * 2),
                nn.LeakyReLU(0.2, inplace=True),
            ]
        self.main = nn.Sequential(*layers, nn.Conv2d(width * 8, 1, 4), nn.Sigmoid())

    def forward(self, image: Tensor) -> Tensor:
        """Say of each image how real it looks."""
        return self.main(image).view(-1)


class UNet(nn.Module):
    """U-Net (Ronneberger et al. 2015): what goes down meets what comes up again."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        widths = [width, width * 2, width * 4]
        self.first = nn.Sequential(_conv(3, width), _conv(width, width))
        self.down = nn.ModuleList(_conv(a, b) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed([*zip(widths, widths[1:])])
        )
        self.join = nn.ModuleList(_conv(2 * a, a) for a in reversed(widths[:-1]))
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Class scores of every pixel; sizes that are odd are padded on the way up."""
        seen = [self.first(image)]
        for layer in self.down:
            seen.append(layer(functional.max_pool2d(seen[-1], 2)))
        value = seen.pop()
        for rise, join in zip(self.up, self.join):
            value, beside = rise(value), seen.pop()
            high, wide = (beside.size(k) - value.size(k) for k in (2, 3))
            value = functional.pad(
                value, [wide // 2, wide - wide // 2, high // 2, high - high // 2]
            )
            value = join(torch.cat([beside, value], dim=1))
        return self.last(value)


class AutoEncoder(nn.Module):
    """The deep autoencoder for ratings (Kuchaiev and Ginsburg 2017), its weights not tied."""

    def __init__(self, items: int = 50) -> None:
        super().__init__()
        sizes = [items, 16, 16, 32]
        self.encode = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.drop = nn.Dropout(0.8)
        back = sizes[::-1]
        self.decode = nn.ModuleList(nn.Linear(a, b) for a, b in zip(back, back[1:]))

    def forward(self, ratings: Tensor) -> Tensor:
        """Fill in a user's ratings."""
        value = ratings
        for layer in self.encode:
            value = functional.selu(layer(value))
        value = self.drop(value)
        for number, layer in enumerate(self.decode):
            value = layer(value)
            if number != len(self.decode) - 1:
                value = functional.selu(value)
        return value


class Painter(nn.Module):
    """Learning to paint (Huang et al. 2019): an actor's strokes, drawn by a neural renderer."""

    def __init__(self, strokes: int = 2) -> None:
        super().__init__()
        self.strokes = strokes
        self.see = nn.Sequential(_conv(9, 8, 2), _conv(8, 16, 2), nn.AdaptiveAvgPool2d(1))
        self.act = nn.Linear(16, strokes * 13)
        self.render = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4 * 8 * 8))
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, canvas: Tensor, target: Tensor, step: int) -> Dict[str, Any]:
        """Paint one step; step is how many came before."""
        shown = torch.full_like(canvas, step / 40)
        state = torch.cat([canvas, target, shown], 1)
        actions = torch.sigmoid(self.act(self.see(state).flatten(1)))
        painted = [canvas]
        for action in actions.view(-1, self.strokes, 13).unbind(1):
            drawn = 1 - torch.sigmoid(self.shuffle(self.render(action[:, :10]).view(-1, 4, 8, 8)))
            drawn = functional.interpolate(drawn, canvas.shape[2:])
            color = action[:, 10:, None, None]
            painted.append(painted[-1] * (1 - drawn) + color * drawn)
        return {"canvas": painted[-1], "actions": actions, "before": painted[:-1]}


class Matting(nn.Module):
    """Background matting (Sengupta et al. 2020): cues are chosen among, then taken apart."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        sizes = {"image": 3, "back": 3, "seg": 1, "multi": 4}
        self.encoders = nn.ModuleDict({k: _conv(n, width, 2) for k, n in sizes.items()})
        pairs = ("back", "seg", "multi")
        self.choose = nn.ModuleDict({k: _conv(2 * width, width) for k in pairs})
        self.merge = _conv(4 * width, width)
        self.blocks = nn.ModuleList(_conv(width, width) for _ in range(2))
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.alpha, self.front = nn.Conv2d(width, 1, 3, 1, 1), nn.Conv2d(width + 3, 3, 3, 1, 1)

    def forward(self, image: Tensor, back: Tensor, seg: Tensor, multi: Tensor) -> List[Tensor]:
        """The matte and the foreground of an image, given its background and a segmentation."""
        given = {"image": image, "back": back, "seg": seg, "multi": multi}
        seen = {key: self.encoders[key](value) for key, value in given.items()}
        chosen = [layer(torch.cat([seen["image"], seen[k]], 1)) for k, layer in self.choose.items()]
        value = self.merge(torch.cat([seen["image"], *chosen], dim=1))
        for block in self.blocks:
            value = value + block(value)
        value = self.up(value)
        return [torch.tanh(self.alpha(value)), self.front(torch.cat([value, image], 1))]


class Bert(nn.Module):
    """BERT (Devlin et al. 2019) with both of its training tasks, on PyTorch's own encoder."""

    def __init__(self, words: int = 100, width: int = 32) -> None:
        super().__init__()
        self.token = nn.Embedding(words, width, padding_idx=0)
        self.segment, self.place = nn.Embedding(3, width), nn.Embedding(64, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.next, self.masked = nn.Linear(width, 2), nn.Linear(width, words)

    def forward(self, tokens: Tensor, segments: Tensor) -> List[Tensor]:
        """Log-probabilities of "is the next sentence", and of each word."""
        places = torch.arange(tokens.size(1), device=tokens.device)
        value = self.token(tokens) + self.segment(segments) + self.place(places)
        value = self.encoder(value, src_key_padding_mask=tokens == 0)
        first = functional.log_softmax(self.next(value[:, 0]), dim=-1)
        return [first, functional.log_softmax(self.masked(value), dim=-1)]


def _tokens() -> List[Tensor]:
    tokens = torch.randint(1, 100, (2, 12))
    tokens[1, 9:] = 0
    return [tokens, (torch.arange(12) > 5).long().expand(2, 12) + 1]


SMALL: Dict[str, Small] = {
    "dcgan": Small("DCGAN's discriminator", Discriminator, lambda: [torch.randn(2, 3, 64, 64)]),
    "pytorch_unet": Small("a U-Net", UNet, lambda: [torch.randn(2, 3, 30, 34)]),
    "nvidia_deeprecommender": Small("DeepRec", AutoEncoder, lambda: [torch.rand(3, 50)]),
    "LearningToPaint": Small(
        "a painter", Painter, lambda: [torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32), 4]
    ),
    "Background_Matting": Small(
        "a matting network", Matting, lambda: [torch.rand(2, n, 32, 32) for n in (3, 3, 1, 4)]
    ),
    "BERT_pytorch": Small("BERT with two heads", Bert, _tokens),
}

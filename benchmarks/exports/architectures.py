"""Models: classes of the package transformers in small sizes, with random weights.

The parts of an encoder-decoder are separate models, and so is a decoder's step, which takes and
returns keys and values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
import transformers as hf
from torch import Tensor, nn

VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS = 300, 64, 4, 128, 2
#: Tokens of a text, tokens in the caches before a step, and rows that decoders attend to.
TOKENS, PAST, ROWS = 12, 7, 10


class Adapted(nn.Module):
    """Model as a function of tensors: keyword arguments by name, then a key and a value per layer.

    `names` are the arguments of the model; `outputs` the fields of its result."""

    def __init__(self, model: nn.Module, names: Sequence[str], outputs: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names, self.outputs = model, tuple(names), tuple(outputs)

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        given = dict(zip(self.names, tensors, strict=False))
        past = tensors[len(self.names) :]
        if past:
            cache = hf.DynamicCache()
            for layer, (key, value) in enumerate(zip(past[::2], past[1::2], strict=True)):
                cache.update(key, value, layer)
            crosses = isinstance(self.model, Decoder)
            given["past_key_values"] = (
                hf.EncoderDecoderCache(cache, hf.DynamicCache()) if crosses else cache
            )
        found = self.model(**given, return_dict=True, use_cache=bool(past))
        results = [getattr(found, name) for name in self.outputs]
        if past:
            kept = found.past_key_values
            for layer in getattr(kept, "self_attention_cache", kept).layers:
                results += [layer.keys, layer.values]
        return tuple(results)


class Decoder(nn.Module):
    """Decoder of an encoder-decoder with the head that computes logits."""

    def __init__(self, decoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.decoder, self.head = decoder, head

    def forward(self, **given: object) -> object:
        found = self.decoder(**given)
        found["logits"] = self.head(found.last_hidden_state)
        return found


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Model of transformers and its inputs.

    `inputs` are the arguments by name. `open_sizes` has, for each input, the names of the
    dimensions that change."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Mapping[str, Tensor]
    outputs: Sequence[str]
    open_sizes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    layers: int = 0
    kv_heads: int = HEADS

    @property
    def past(self) -> dict[str, Tensor]:
        """Keys and values of the layers."""
        shape = (1, self.kv_heads, PAST, WIDTH // HEADS)
        return {
            f"past_{layer}_{kind}": torch.randn(shape)
            for layer in range(self.layers)
            for kind in ("key", "value")
        }

    @property
    def output_names(self) -> list[str]:
        return [*self.outputs, *(name.replace("past", "present") for name in self.past)]


def bert() -> nn.Module:
    return hf.BertModel(
        hf.BertConfig(
            vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, intermediate_size=HIDDEN, max_position_embeddings=64,
        )
    )  # fmt: skip


def distilbert() -> nn.Module:
    return hf.DistilBertModel(
        hf.DistilBertConfig(
            vocab_size=VOCABULARY, dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=HIDDEN,
            max_position_embeddings=64,
        )
    )  # fmt: skip


def gpt2() -> nn.Module:
    return hf.GPT2LMHeadModel(
        hf.GPT2Config(
            vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=64,
            bos_token_id=1, eos_token_id=2,
        )
    )  # fmt: skip


def llama() -> nn.Module:
    return hf.LlamaForCausalLM(
        hf.LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN,
            num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=2,
            max_position_embeddings=64,
        )
    )  # fmt: skip


def t5() -> hf.T5ForConditionalGeneration:
    model = hf.T5ForConditionalGeneration(
        hf.T5Config(
            vocab_size=VOCABULARY, d_model=WIDTH, d_kv=WIDTH // HEADS, d_ff=HIDDEN,
            num_layers=LAYERS, num_heads=HEADS, decoder_start_token_id=0,
        )
    )  # fmt: skip
    # The dynamo exporter cannot decompose T5's fused attention.
    model.set_attn_implementation("eager")
    return model


def t5_decoder() -> nn.Module:
    model = t5()
    return Decoder(model.decoder, model.lm_head)


def whisper() -> hf.WhisperForConditionalGeneration:
    return hf.WhisperForConditionalGeneration(
        hf.WhisperConfig(
            vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS,
            encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, num_mel_bins=16,
            encoder_ffn_dim=HIDDEN, decoder_ffn_dim=HIDDEN, max_source_positions=2 * ROWS,
            max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
            decoder_start_token_id=1,
        )
    )  # fmt: skip


def whisper_decoder() -> nn.Module:
    model = whisper()
    return Decoder(model.model.decoder, model.proj_out)


def vit() -> nn.Module:
    return hf.ViTForImageClassification(
        hf.ViTConfig(
            hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=HIDDEN, image_size=32, patch_size=8, num_labels=10,
        )
    )  # fmt: skip


def ids(count: int = TOKENS) -> Tensor:
    return torch.randint(3, VOCABULARY, (1, count))


def mask(count: int = TOKENS) -> Tensor:
    """Return a mask whose last two tokens are padding."""
    found = torch.ones(1, count, dtype=torch.long)
    if count > 2:
        found[:, -2:] = 0
    return found


BATCH = {0: "batch"}
TEXT = {0: "batch", 1: "sequence"}
GROWING = {0: "batch", 1: "total"}
SOURCE = {0: "batch", 1: "source"}

ARCHITECTURES = (
    Architecture(
        name="bert", make=bert,
        inputs={"input_ids": ids(), "attention_mask": mask(), "token_type_ids": ids() % 2},
        outputs=("last_hidden_state", "pooler_output"),
        open_sizes={"input_ids": TEXT, "attention_mask": TEXT, "token_type_ids": TEXT},
    ),
    Architecture(
        name="distilbert", make=distilbert,
        inputs={"input_ids": ids(), "attention_mask": mask()},
        outputs=("last_hidden_state",),
        open_sizes={"input_ids": TEXT, "attention_mask": TEXT},
    ),
    *(
        Architecture(
            name=name, make=make,
            inputs={"input_ids": ids(), "attention_mask": mask()},
            outputs=("logits",),
            open_sizes={"input_ids": TEXT, "attention_mask": TEXT},
        )
        for name, make in (("gpt2", gpt2), ("llama", llama))
    ),
    *(
        Architecture(
            name=f"{name}-step", make=make,
            inputs={"input_ids": ids(1), "attention_mask": mask(1).repeat(1, PAST + 1)},
            outputs=("logits",),
            open_sizes={"input_ids": BATCH, "attention_mask": GROWING},
            layers=LAYERS, kv_heads=kv_heads,
        )
        for name, make, kv_heads in (("gpt2", gpt2, HEADS), ("llama", llama, 2))
    ),
    Architecture(
        name="t5-encoder", make=lambda: t5().encoder,
        inputs={"input_ids": ids(), "attention_mask": mask()},
        outputs=("last_hidden_state",),
        open_sizes={"input_ids": TEXT, "attention_mask": TEXT},
    ),
    Architecture(
        name="t5-decoder", make=t5_decoder,
        inputs={
            "input_ids": ids(), "encoder_hidden_states": torch.randn(1, ROWS, WIDTH),
            "encoder_attention_mask": mask(ROWS),
        },
        outputs=("logits",),
        open_sizes={
            "input_ids": TEXT, "encoder_hidden_states": SOURCE, "encoder_attention_mask": SOURCE,
        },
    ),
    Architecture(
        name="t5-step", make=t5_decoder,
        inputs={
            "input_ids": ids(1), "encoder_hidden_states": torch.randn(1, ROWS, WIDTH),
            "encoder_attention_mask": mask(ROWS),
        },
        outputs=("logits",),
        open_sizes={
            "input_ids": BATCH, "encoder_hidden_states": SOURCE, "encoder_attention_mask": SOURCE,
        },
        layers=LAYERS,
    ),
    Architecture(
        name="whisper-encoder", make=lambda: whisper().model.encoder,
        inputs={"input_features": torch.randn(1, 16, 4 * ROWS)},
        outputs=("last_hidden_state",),
        open_sizes={"input_features": BATCH},
    ),
    *(
        Architecture(
            name=f"whisper-{kind}", make=whisper_decoder,
            # Without a mask, transformers looks for packed texts by aten::diff, which the older
            # exporter lacks.
            inputs={
                "input_ids": ids(count), "encoder_hidden_states": torch.randn(1, 2 * ROWS, WIDTH),
                "attention_mask": seen,
            },
            outputs=("logits",),
            open_sizes={
                "input_ids": TEXT if count > 1 else BATCH, "encoder_hidden_states": BATCH,
                "attention_mask": TEXT if count > 1 else GROWING,
            },
            layers=layers,
        )
        for kind, count, seen, layers in (
            ("decoder", TOKENS, mask(), 0), ("step", 1, mask(1).repeat(1, PAST + 1), LAYERS),
        )
    ),
    Architecture(
        name="vit", make=vit,
        inputs={"pixel_values": torch.randn(1, 3, 32, 32)},
        outputs=("logits",),
        open_sizes={"pixel_values": BATCH},
    ),
)  # fmt: skip


def base(tokens: int) -> Architecture:
    """Return DistilBERT in its base size, with `tokens` tokens and no padding."""
    return Architecture(
        name="distilbert-base",
        make=lambda: hf.DistilBertModel(hf.DistilBertConfig()),
        inputs={
            "input_ids": ids(tokens),
            "attention_mask": torch.ones(1, tokens, dtype=torch.long),
        },
        outputs=("last_hidden_state",),
    )


def exported(model: Architecture, path: Path, *, dynamo: bool, is_open: bool) -> None:
    """Write the model as ONNX."""
    torch.manual_seed(0)
    adapted = Adapted(model.make(), list(model.inputs), model.outputs).eval()
    arguments = {**model.inputs, **model.past}
    open_sizes = dict(model.open_sizes) | {
        name: {0: "batch", 2: "past"} for name in arguments if name.startswith("past")
    }
    sizes: dict[str, object] = {}
    if is_open and dynamo:
        dim = torch.export.Dim.DYNAMIC
        sizes["dynamic_shapes"] = (
            tuple(dict.fromkeys(open_sizes[name], dim) for name in arguments),
        )
    elif is_open:
        sizes["dynamic_axes"] = open_sizes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            adapted, tuple(arguments.values()), path, dynamo=dynamo, external_data=False,
            input_names=list(arguments), output_names=model.output_names, verbose=False, **sizes,
        )  # fmt: skip

"""Shapes from models: M x N x K of GEMMs, and the distinct convolutions of two networks."""

from __future__ import annotations

from collections.abc import Iterator

Shape = tuple[int, int, int]
#: Side of the image, channels, output channels, kernel size, stride.
Convolution = tuple[int, int, int, int, int]

#: (N, K) of a layer's GEMMs by (M, ...): tokens, or positions of an image. Convolutions of
#: ResNet-50 are GEMMs of positions by channels (N) and taps times channels (K).
LAYERS: dict[str, dict[tuple[int, ...], tuple[tuple[int, int], ...]]] = {
    "BERT": {
        (128,): ((768, 768), (3072, 768), (768, 3072)),
        (384,): ((768, 768),),
        (512,): ((3072, 768),),
    },
    "MiniLM": {(128,): ((384, 384), (1536, 384), (384, 1536)), (32,): ((384, 384),)},
    "GPT-2": {
        (1,): ((2304, 768), (768, 3072)),
        (4,): ((768, 768),),
        (8, 64): ((2304, 768),),
        (12,): ((768, 3072),),
        (256,): ((3072, 768),),
    },
    "Llama 1B": {
        (1, 4, 16): ((2048, 2048),),
        (2,): ((512, 2048),),
        (32,): ((512, 2048),),
        (128,): ((2048, 2048),),
    },
    "wide decoders": {(1,): ((4096, 4096), (5120, 5120)), (3,): ((5120, 2048),)},
    "ViT": {(197,): ((768, 768), (2304, 768), (768, 3072)), (50,): ((768, 768),)},
    "ResNet-50": {
        (49,): ((512, 2048), (2048, 512), (512, 4608)),
        (196,): ((256, 1024), (1024, 256), (256, 2304)),
    },
    "others": {
        (6,): ((1024, 1024),),
        (16,): ((1024, 4096),),
        (31,): ((4096, 1024),),
        (64,): ((1024, 1024), (256, 784)),
    },
}


def shapes() -> Iterator[Shape]:
    """Yield each distinct shape, in the order of the models."""
    for layers in LAYERS.values():
        for rows, products in layers.items():
            yield from ((m, n, k) for m in rows for n, k in products)


PRODUCTS: tuple[Shape, ...] = tuple(shapes())

#: Distinct convolutions of the networks that benchmarks.models times; none is dilated or grouped.
CONVOLUTIONS: dict[str, tuple[Convolution, ...]] = {
    "ResNet-50": (
        (224, 3, 64, 7, 2),
        *((56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1)),
        *((56, 256, 128, 1, 1), (56, 128, 128, 3, 2), (56, 256, 512, 1, 2)),
        *((28, 128, 512, 1, 1), (28, 512, 128, 1, 1), (28, 128, 128, 3, 1)),
        *((28, 512, 256, 1, 1), (28, 256, 256, 3, 2), (28, 512, 1024, 1, 2)),
        *((14, 256, 1024, 1, 1), (14, 1024, 256, 1, 1), (14, 256, 256, 3, 1)),
        *((14, 1024, 512, 1, 1), (14, 512, 512, 3, 2), (14, 1024, 2048, 1, 2)),
        *((7, 512, 2048, 1, 1), (7, 2048, 512, 1, 1), (7, 512, 512, 3, 1)),
    ),
    "U-Net": (
        *((256, 3, 64, 3, 1), (256, 64, 64, 3, 1), (128, 64, 128, 3, 1), (128, 128, 128, 3, 1)),
        *((64, 128, 256, 3, 1), (64, 256, 256, 3, 1), (32, 256, 512, 3, 1), (32, 512, 512, 3, 1)),
        *((16, 512, 1024, 3, 1), (16, 1024, 1024, 3, 1), (32, 1024, 512, 3, 1)),
        *((64, 512, 256, 3, 1), (128, 256, 128, 3, 1), (256, 128, 64, 3, 1), (256, 64, 2, 1, 1)),
    ),
}

"""Products of random shapes against libraries: which kind of product that no table has is slow?

    python -m scripts.bench_cpu.survey --seconds 100 --layouts nn,nt

prints the geometric mean over all of them and the lowest ratios. Sizes are small, or any up to
1500, or a power of two or half more, as those of models are and as caches like them least.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import kgen
from kgen.check.bench import run as bench
from kgen.spec import DType, Layout, Matmul

#: Multiply-adds and additions of a product, at least and at most: a call through Python takes a
#: microsecond, and many shapes are worth more than a few large ones.
LEAST, MOST = 2e5, 3e8
LARGEST = 1500
ROUND = (64, 128, 192, 256, 384, 512, 768, 1024)
PEERS = ("numpy", "torch", "onednn")
ROUNDS, LIMIT = 5, 0.2
SHOWN = 20


def shapes(random: Random, dtype: DType, layouts: Sequence[Layout]) -> Iterator[Matmul]:
    """Without end."""
    while True:
        m, n, k = (_size(random) for _ in range(3))
        layout = random.choice(layouts)
        if LEAST <= 2 * m * n * k <= MOST:
            yield Matmul(m=m, n=n, k=k, dtype=dtype, layout=layout)


def _size(random: Random) -> int:
    few, any_size = random.randint(1, 16), int(math.exp(random.uniform(0, math.log(LARGEST))))
    return random.choice((few, any_size, random.choice(ROUND)))


def ratio(spec: Matmul, folder: Path) -> tuple[float, str]:
    """Of the fastest library's time to the kernel's, and a line that says so."""
    path = kgen.build(spec, targets=["native"]).save(folder / "kernel.kgen")
    report = bench.bench(
        path, device="cpu", num_threads=1, against=list(PEERS), rounds=ROUNDS, limit=LIMIT
    )
    (result,) = report.kernels
    ratios = {peer.name: peer.ratio for peer in result.peers if peer.ratio is not None}
    if not ratios:
        raise SystemExit(f"none of {', '.join(PEERS)} computes {spec.key}: is it installed?")
    least = min(ratios.values())
    words = " ".join(f"{name} {found:.2f}x" for name, found in ratios.items())
    return least, f"{least:.2f}  {spec.key}  {result.seconds * 1e6:.1f} us  {words}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=100, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", type=DType, default=DType.F32)
    parser.add_argument("--layouts", default="nn,nt", help="of nn, nt, tn and tt")
    options = parser.parse_args()
    layouts = [Layout(name) for name in options.layouts.split(",")]
    end = time.monotonic() + options.seconds
    found = []
    with tempfile.TemporaryDirectory() as folder:
        specs = shapes(Random(options.seed), options.dtype, layouts)
        for spec in itertools.takewhile(lambda _: time.monotonic() < end, specs):
            found.append(ratio(spec, Path(folder)))
    found.sort()
    for _, line in found[:SHOWN]:
        print(line)
    mean = math.exp(sum(math.log(least) for least, _ in found) / max(len(found), 1))
    print(f"{len(found)} products, geometric mean {mean:.2f}x of the fastest of {', '.join(PEERS)}")


if __name__ == "__main__":
    main()

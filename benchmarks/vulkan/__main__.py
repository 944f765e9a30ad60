"""Time Vulkan kernels against other libraries on the first device, or count the instructions that
GPU drivers compile them to.

    python -m benchmarks.vulkan [--only NAME,...]
    python -m benchmarks.vulkan --compiled | --glsl FOLDER

kgen, ncnn, IREE and WGSL compute each problem in turn, round by round, each in a process of its
own. --compiled and --glsl need no GPU: Mesa compiles for two GPUs. --compiled compiles kgen's and
IREE's kernels; --glsl compiles the GEMM shader in ggml-vulkan/vulkan-shaders of llama.cpp.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import results, suite
from benchmarks.machine import Machine, this_machine
from benchmarks.results import Row, Timing
from benchmarks.vulkan import compiled, glsl, peers
from benchmarks.vulkan.peers import PEERS, Absent, Call
from benchmarks.vulkan.problems import PROBLEMS, Problem

#: Most rounds of a problem, and seconds after which no further round starts.
ROUNDS, SECONDS = 15, 10.0
#: Largest difference from numpy's results in f32, as a fraction of the largest number.
TOLERANCE = {"f32": 1e-3, "f16": 2e-2}


def serve(problem: Problem, peer: str) -> None:
    """Serve one peer: print whether it is ready, then the seconds of a run for each line of input.
    Its result is compared with numpy's before."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print to standard output
    print(json.dumps(prepared(problem, peer)), file=answers, flush=True)
    for _ in sys.stdin:
        print(timed(CALLS[peer]), file=answers, flush=True)


CALLS: dict[str, Call] = {}


def prepared(problem: Problem, peer: str) -> dict[str, str]:
    """Return nothing, or why the peer does not compute the problem."""
    try:
        CALLS[peer] = call = PEERS[peer](problem, problem.inputs)
        call.run()
    except (Absent, ImportError) as error:
        return {"absent": str(error)}
    found = call.result().astype(np.float32).reshape(problem.out_shape)
    off = np.abs(found - problem.expected).max() / np.abs(problem.expected).max()
    if not off < TOLERANCE[problem.dtype]:
        return {"absent": f"its result is wrong by {off:.3g} of the largest number"}
    return {}


def timed(call: Call) -> float:
    """Time a run after an untimed one: threads share a core when a process has just continued."""
    call.run()
    start = time.perf_counter()
    call.run()
    taken = time.perf_counter() - start
    if call.less is not None:
        start = time.perf_counter()
        call.less()
        taken -= time.perf_counter() - start
    return max(taken, 1e-6)


class Peer:
    """Process of one peer. It is stopped while others run: threads of some libraries wait in a
    loop, and would take a core from the next peer."""

    def __init__(self, problem: Problem, name: str) -> None:
        command = [sys.executable, "-m", "benchmarks.vulkan", "--serve", problem.name, name]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        answer = self._answer()
        self.absent: str | None = json.loads(answer).get("absent") if answer else "its process died"
        self._process.send_signal(signal.SIGSTOP)

    def seconds(self) -> float:
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        taken = float(self._answer())
        self._process.send_signal(signal.SIGSTOP)
        return taken

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def measure(problem: Problem) -> Row:
    """Time the peers in turn."""
    asked = {name: Peer(problem, name) for name in PEERS}
    absent = {name: peer.absent for name, peer in asked.items() if peer.absent is not None}
    if "kgen" in absent:
        raise SystemExit(f"{problem.name}: kgen: {absent['kgen']}")
    times: dict[str, list[float]] = {name: [] for name in PEERS if name not in absent}
    began = time.perf_counter()
    for number in range(ROUNDS):
        if number > 2 and time.perf_counter() - began > SECONDS:
            break
        for name, taken in times.items():
            taken.append(asked[name].seconds())
    for peer in asked.values():
        peer.close()
    ours = times.pop("kgen")
    best = statistics.median(ours)
    timed = {
        name: results.Peer(time=Timing.of(each), ratio=statistics.median(each) / best)
        for name, each in times.items()
    }
    return Row(
        table="kernels",
        work=problem.name,
        time=Timing.of(ours),
        peers=timed | {name: results.Peer(missing=why) for name, why in absent.items()},
        values={"gflops": problem.flops / best / 1e9} if problem.flops else {},
    )


def device() -> str:
    from kgen_runtime.backends.vulkan import VulkanBackend

    return VulkanBackend.devices()[0].name


def main() -> None:
    parser = suite.options(__doc__)
    parser.add_argument("--compiled", action="store_true", help="count, and time nothing")
    parser.add_argument("--glsl", type=Path, metavar="FOLDER", help="shaders of llama.cpp")
    parser.add_argument("--glslang", default="glslangValidator", metavar="PROGRAM")
    parser.add_argument("--serve", nargs=2, metavar=("PROBLEM", "PEER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    known = {problem.name: problem for problem in PROBLEMS}
    if args.serve is not None:
        serve(known[args.serve[0]], args.serve[1])
        return
    todo = suite.chosen(parser, args.only, known)
    counts = args.compiled or args.glsl is not None
    machine = Machine(name="RADV, NVK") if counts else this_machine(gpu=device())
    peers_here = suite.versions("ncnn", "iree-base-compiler", "wgpu")
    name = "vulkan-glsl" if args.glsl else "vulkan-compiled" if counts else "vulkan"
    run = suite.Run(name, args, versions=peers_here, machine=machine)
    if counts:
        found = compiled.rows("iree-base-compiler" in peers_here)
        if args.glsl is not None:
            found = glsl.rows(args.glsl, args.glslang)
        for row in found:
            run.add(row)
    else:
        for problem in todo:
            if not run.has("kernels", problem.name):
                peers.bundle(problem)
                if "iree-base-compiler" in peers_here:
                    peers.iree_module(problem)
                run.add(measure(problem))
    print(f"written: {run.path}")


if __name__ == "__main__":
    main()

"""Time Vulkan kernels against other libraries on one device, in turn.

    python -m scripts.bench_vulkan [--only NAME,...] [--write] [--results FILE.json]

kgen, ncnn, IREE and WGSL compute each problem in turn, round by round, each in a process of its
own, and the medians are compared. Results are kept in FILE, for problems to be timed one by one;
--write puts what is there into docs/performance.md, with what compilers of GPUs make of kgen's
kernels and of IREE's.
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
from typing import Any

import numpy as np

from kgen_runtime.cpu_features import cpu_name
from scripts import documents
from scripts.bench_vulkan import compiled, peers
from scripts.bench_vulkan.peers import PEERS, Absent, Call
from scripts.bench_vulkan.problems import PROBLEMS, Problem

#: Of a problem's rounds: at most so many, and no more after so many seconds.
ROUNDS, SECONDS = 15, 10.0
#: How far results may be from numpy's in f32, as a part of the largest number.
TOLERANCE = {"f32": 1e-3, "f16": 2e-2}
MARK = "make bench-vulkan"


def serve(problem: Problem, peer: str) -> None:
    """One peer's process: a line that says whether it is ready, then one with seconds for each line
    that comes in. What it computes is compared with numpy's."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries print what they like
    print(json.dumps(prepared(problem, peer)), file=answers, flush=True)
    for _ in sys.stdin:
        print(timed(CALLS[peer]), file=answers, flush=True)


CALLS: dict[str, Call] = {}


def prepared(problem: Problem, peer: str) -> dict[str, str]:
    """Nothing, or why the peer does not compute the problem."""
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
    """After a run that is not timed: threads that were just continued share a core at first."""
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
    """A process of one peer, stopped while it is not asked: some libraries have threads that wait
    in a loop, and take a core from whoever is timed after them."""

    def __init__(self, problem: Problem, name: str) -> None:
        command = [sys.executable, "-m", "scripts.bench_vulkan", "--serve", problem.name, name]
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


def measure(problem: Problem) -> dict[str, Any]:
    """Medians by peer, or why there is none."""
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
    return {
        "seconds": {name: statistics.median(each) for name, each in times.items()},
        "absent": absent,
        "device": device(),
        "moment": documents.moment(),
    }


def device() -> str:
    from kgen_runtime.backends.vulkan import VulkanBackend

    return VulkanBackend.devices()[0].name


def lines(found: dict[str, Any]) -> list[str]:
    """The section of the document."""
    rows = []
    for problem in PROBLEMS:
        if problem.name not in found:
            continue
        seconds = found[problem.name]["seconds"]
        best = min(value for name, value in seconds.items() if name != "kgen")
        ratio = best / seconds["kgen"]
        cells = [f"{1e3 * seconds[name]:.3g}" if name in seconds else "–" for name in PEERS]
        speed = f"{problem.flops / seconds['kgen'] / 1e9:.3g}" if problem.flops else "–"
        verdict = "yes" if ratio >= problem.bar else "no"
        rows.append([problem.name, *cells, speed, f"{ratio:.2f}x", f"{problem.bar:g}x", verdict])
    head = [
        "problem",
        *(f"{name} ms" for name in PEERS),
        "kgen GFLOP/s",
        "of the best",
        "bar",
        "held",
    ]
    lacking = [
        f"{name} on {line}: {reason}."
        for line, each in found.items()
        for name, reason in each["absent"].items()
    ]
    moments = documents.measured(each["moment"] for each in found.values())
    devices = ", ".join(dict.fromkeys(each["device"] for each in found.values()))
    return [
        "",
        f"{devices} on {cpu_name()}, {os.cpu_count()} cores. {moments}",
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *([" ".join(lacking), ""] if lacking else []),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME,...", help="problems whose names hold one of these")
    parser.add_argument("--prepare", action="store_true", help="compile, and time nothing")
    parser.add_argument("--results", metavar="FILE", default=str(peers.BUILD / "results.json"))
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--serve", nargs=2, metavar=("PROBLEM", "PEER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve is not None:
        (problem,) = (p for p in PROBLEMS if p.name == args.serve[0])
        serve(problem, args.serve[1])
        return
    path = Path(args.results)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(path.read_text()) if path.is_file() else {}
    for problem in PROBLEMS:
        if args.only is not None and not any(w in problem.name for w in args.only.split(",")):
            continue
        peers.bundle(problem)
        peers.iree_module(problem)
        if args.prepare:
            continue
        found[problem.name] = measure(problem)
        path.write_text(json.dumps(found, indent=1))
        print(problem.name, found[problem.name]["seconds"], found[problem.name]["absent"])
    if args.write:
        documents.put(documents.PERFORMANCE, MARK, lines(found))
        moment = documents.measured([documents.moment()])
        documents.put(documents.PERFORMANCE, f"{MARK}, compiled", compiled.lines(moment))
    elif not args.prepare:
        print("\n".join(lines(found)))


if __name__ == "__main__":
    main()

"""kgen report, kgen inspect --graph: nothing overlaps, and the page needs nothing else."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from html import unescape
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import onnx
import pytest

import kgen
from kgen.cli.main import main
from kgen.report import figures, page
from kgen.report.figures import Ceilings, Times
from kgen.report.flow import Flow, flow
from kgen.report.layers import DrawnLayers, layout
from kgen.report.markup import shortened, tag
from kgen_runtime.bundle import BundleFile
from kgen_runtime.manifest import KernelEntry
from kgen_runtime.schema.program import Program, Step
from tests import needs
from tests.onnx_models import DECODER, DECODER_STATES, ENCODER_SHAPES, EXPORTED, mlp

SVG = "{http://www.w3.org/2000/svg}"
EVIL = '</title><script src="http://example.com/x.js">alert(1)</script>'
#: Elements without an end.
VOID = ("meta",)


#: What is wrong in the eyes of a browser, put into the page as text. A pixel is left for rounding.
PROBE = """
<script>
addEventListener("load", () => {
  const wrong = [];
  const inside = (inner, outer, what) => {
    const a = inner.getBoundingClientRect(), b = outer.getBoundingClientRect();
    const x = a.left < b.left - 1 || a.right > b.right + 1;
    if (x || a.top < b.top - 1 || a.bottom > b.bottom + 1)
      wrong.push(what + ": " + inner.outerHTML.slice(0, 120));
  };
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("it is wider than the window");
  const fetched = performance.getEntriesByType("resource");
  if (fetched.length) wrong.push("it fetches " + fetched[0].name);
  document.querySelectorAll("section").forEach(s => {
    if (s.getBoundingClientRect().height < 50) wrong.push("nothing is in " + s.id);
  });
  document.querySelectorAll("svg").forEach(svg =>
    svg.querySelectorAll("text, rect, circle, path").forEach(e => inside(e, svg, "outside")));
  document.querySelectorAll("#graph g g").forEach(box =>
    box.querySelectorAll("text").forEach(e => inside(e, box.querySelector("rect"), "past a box")));
  const seen = document.querySelectorAll("#graph g g text").length;
  const found = document.createElement("pre");
  found.textContent = JSON.stringify({wrong, seen});
  document.body.replaceChildren(found);
});
</script>
"""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder of two layers, compiled for this CPU and for a GPU."""
    path = tmp_path_factory.mktemp("report") / "encoder.kgen"
    made = kgen.compile_model(EXPORTED["dynamo"], ["native", "gfx942"], shapes=ENCODER_SHAPES)
    return made.bundle.save(path)


def parts(path: Path, number: int = 0) -> tuple[Program, dict[str, KernelEntry]]:
    with BundleFile(path) as bundle:
        return bundle.manifest.programs[number], {e.name: e for e in bundle.manifest.kernels}


# -- layout ----------------------------------------------------------------------------------------


def graphs() -> list[tuple[int, list[tuple[int, int]]]]:
    found: list[tuple[int, list[tuple[int, int]]]] = [(0, []), (1, []), (3, []), (2, [(0, 1)])]
    rng = random.Random(0)
    for count in (3, 7, 20, 60):
        edges = [(u, v) for u, v in combinations(range(count), 2) if rng.random() < 2.5 / count]
        found.append((count, edges))
    # A chain with shortcuts, as residual connections are, and one mask that many read.
    chain = [(n, n + 1) for n in range(1, 40)] + [(n, n + 5) for n in range(1, 35, 5)]
    return [*found, (41, chain + [(0, n) for n in range(2, 40, 6)])]


@pytest.mark.parametrize(("count", "edges"), graphs(), ids=lambda value: str(value)[:20])
def test_boxes_are_apart_and_edges_go_down(count: int, edges: list[tuple[int, int]]) -> None:
    rng = random.Random(count)
    sizes = [(rng.choice([40.0, 100.0, 250.0]), rng.choice([20.0, 40.0])) for _ in range(count)]
    placed = layout(sizes, edges)
    assert placed == layout(sizes, list(reversed(edges))), "it depends on nothing else"
    for (x, y), (w, h) in zip(placed.boxes, sizes, strict=True):
        assert x >= -1e-6 and x + w <= placed.width + 1e-6
        assert y >= 0 and y + h <= placed.height
    for a, b in combinations(range(count), 2):
        assert not overlap(placed, sizes, a, b)
    assert placed.edges.keys() == set(edges)
    for (u, v), points in placed.edges.items():
        middle_u, middle_v = (placed.boxes[n][0] + sizes[n][0] / 2 for n in (u, v))
        assert points[0] == pytest.approx((middle_u, placed.boxes[u][1] + sizes[u][1]))
        assert points[-1] == pytest.approx((middle_v, placed.boxes[v][1]))
        assert [y for _, y in points] == sorted(y for _, y in points)
        for x, y in points[1:-1]:  # no bend lies in a box
            for (left, top), (w, h) in zip(placed.boxes, sizes, strict=True):
                assert not (left < x < left + w and top <= y <= top + h)


def overlap(placed: DrawnLayers, sizes: list[tuple[float, float]], a: int, b: int) -> bool:
    (ax, ay), (bx, by) = placed.boxes[a], placed.boxes[b]
    (aw, ah), (bw, bh) = sizes[a], sizes[b]
    return ax < bx + bw and bx < ax + aw and ay < by + bh and by < ay + ah


def test_a_chain_is_straight() -> None:
    placed = layout([(100.0, 20.0)] * 5, [(n, n + 1) for n in range(4)])
    assert len({x for x, _ in placed.boxes}) == 1


# -- flow ------------------------------------------------------------------------------------------


def writers(program: Program, kernels: dict[str, KernelEntry]) -> set[tuple[int, int]]:
    """Return, for each element that a step reads, the step that wrote it last."""
    last: dict[tuple[str, str, int], int] = {}
    found = set()
    values = program.by_name
    for number, step in enumerate(program.steps):
        entry = kernels[f"{program.target}/{step.kernel}"]
        for writes in (False, True):
            for param in (*entry.arguments, *entry.outputs):
                if (param.role == "output") != writes or param.name not in step.bindings:
                    continue
                value = values[step.bindings[param.name]]
                for offset in offsets(param.shape, param.strides):
                    at = value.place.offset + offset * param.dtype.itemsize
                    key = (value.place.kind, value.place.name, at)
                    if writes:
                        last[key] = number
                    elif key in last:
                        found.add((last[key], number))
    return found


def offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> set[int]:
    found = {0}
    for size, stride in zip(shape, strides, strict=True):
        found = {at + i * stride for at in found for i in range(size)}
    return found


@pytest.mark.integration
@pytest.mark.parametrize("number", [0, 1])
def test_reads_are_those_of_the_elements(encoder: Path, number: int) -> None:
    program, kernels = parts(encoder, number)
    found = flow(program, kernels)
    assert set(found.reads) == writers(program, kernels)
    assert {name for _, name in found.inputs} == {v.name for v in program.inputs}
    assert {name for _, name in found.outputs} == {v.name for v in program.outputs}


@pytest.mark.integration
def test_the_arena_holds_what_lives(encoder: Path) -> None:
    program, kernels = parts(encoder)
    found = flow(program, kernels)
    for block in found.blocks:
        assert 0 <= block.start < block.end <= program.arena_bytes
    for a, b in combinations(found.blocks, 2):
        at_once = a.first < b.last and b.first < a.last  # a step may write over what it reads
        assert not (at_once and a.start < b.end and b.start < a.end) or a.value == b.value
    most = max(found.occupied(step) for step in range(len(program.steps)))
    assert program.arena_bytes / 2 < most <= program.arena_bytes
    assert Flow(reads=(), inputs=(), outputs=(), blocks=()).occupied(0) == 0


# -- pictures and the page -------------------------------------------------------------------------


@pytest.mark.integration
def test_the_graph_is_drawn(encoder: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.svg"
    assert main(["inspect", str(encoder), "--graph", "-o", str(out)]) == 0
    program, _ = parts(encoder)
    drawing = ElementTree.parse(out).getroot()
    titles = [title.text or "" for title in drawing.iter(f"{SVG}title")]
    for number, step in enumerate(program.steps):
        assert f"step {number}: {step.kernel}; nodes {', '.join(step.nodes)}" in titles
    check_numbers(drawing)


def check_numbers(drawing: ElementTree.Element) -> None:
    """Check that all positions are numbers inside the picture, and all sizes at least 0."""
    _, _, width, height = map(float, drawing.attrib["viewBox"].split())
    for element in drawing.iter():
        for name in ("x", "x1", "x2", "cx", "y", "y1", "y2", "cy", "width", "height", "r"):
            if element is not drawing and name in element.attrib:
                value = float(element.attrib[name])
                limit = height if name.startswith(("y", "cy", "h")) else width
                assert math.isfinite(value) and -1 <= value <= limit + 1, (element.attrib, limit)


class Page(HTMLParser):
    """Parser of a page: checks that elements open and close in turn, and collects ids and
    everything that a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "data", "action", "srcset", "poster"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def check_page(text: str) -> Page:
    """Check that the page is complete, and that it fetches and runs nothing."""
    page = Page(text)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    styles = "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    assert "url(" not in styles and "@import" not in styles
    assert set(page.ids) == {"time", "graph", "kernels", "memory", "sizes", "checks", "made"}
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        check_numbers(ElementTree.fromstring(svg))
    return page


@pytest.mark.integration
def test_a_page_of_a_program_that_runs_here(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    words = ["report", str(encoder), "-o", str(out), "--model", str(EXPORTED["dynamo"]), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["program"] == "native/main" and found["measured"] and found["seconds"] > 0
    checks = {check["name"]: check for check in found["checks"]}
    assert checks["steps against the model"]["passed"], checks
    assert checks["kernels against the reference"]["passed"] is None
    text = "".join(check_page(out.read_text()).words)
    program, kernels = parts(encoder)
    assert "Measured on cpu" in text and "memory" in text and "gfx942/main" in text
    for step in program.steps:
        assert ", ".join(step.nodes) in text
        assert kernels[f"native/{step.kernel}"].key in text
    assert f"({program.arena_bytes} bytes)" in text


@pytest.mark.integration
def test_weights_come_from_the_memory_that_holds_all_of_them() -> None:
    """A decoder's s8 weights: each fits the first cache, all of them together fit none."""
    model = DECODER["step"]
    made = kgen.compile_model(model, targets="x86-64-v3", states=DECODER_STATES, weights="s8")
    (program,) = made.bundle.manifest.programs
    kernels = {kernel.name: kernel for kernel in made.bundle.manifest.kernels}
    times = Times(seconds=(1e-6,) * len(program.steps), source="given", measured=True)
    rates = {"L2": 1e11, "L3": 1e10, "memory": 1e9}
    weights = sum(weight.nbytes for weight in program.weights)
    found = {True: 0, False: 0}
    for held, name in ((weights - 1, "memory"), (weights, "L3")):
        ceilings = Ceilings(
            source="given",
            flops={"f32": 1e11},
            bandwidths=rates,
            holds={"L2": weights // 2, "L3": held},
        )
        for work in figures.works(program, kernels, times):
            reached = work.reached(ceilings)
            assert reached is not None
            if work.entry.op == "matmul" and work.weight_bytes:
                moved = work.weight_bytes / rates[name]
                rest = (work.nbytes - work.weight_bytes) / rates["L2"]
                assert reached[1] == name and reached[0] == pytest.approx((moved + rest) / 1e-6)
            elif not work.weight_bytes:
                assert reached[1] in ("L2", "arithmetic in f32")
            found[bool(work.weight_bytes)] += 1
    assert all(found.values())


#: Fields of a product, a target, an instruction of its main loop, the type that this multiplies,
#: and the products of that type for each of the problem's.
NARROW_B = {"dtype": "f32", "constant": ("b",)}
MULTIPLIED = [
    ({"dtype": "bf16"}, "x86-64-v3", "fma.v8f32", "f32", 1),
    ({"dtype": "bf16"}, "x86-64-v4+bf16", "dpbf16ps", "bf16", 1),
    ({"dtype": "bf16"}, "x86-64-amx", "tdpbf16ps", "bf16", 1),
    ({"dtype": "f16"}, "x86-64-amx", "fma.v16f32", "f32", 1),
    ({"dtype": "f16"}, "x86-64-amx+fp16", "tdpfp16ps", "f16", 1),
    ({"dtype": "s8"}, "x86-64-v3", "pmadd.wd", "s8", 1),
    ({"dtype": "s8"}, "x86-64-v4+vnni", "vpdpbusd", "s8", 1),
    ({"dtype": "s8", "m": 1}, "x86-64-v4+vnni", "vpdpbusd", "s8", 1),
    ({"dtype": "f64"}, "x86-64-v3", "fma.v4f64", "f64", 1),
    ({"dtype": "f32"}, "x86-64-amx", "fma.v16f32", "f32", 1),
    # Weights of 8 bits are widened to f32; with VNNI, A is cut into four bytes.
    ({**NARROW_B, "m": 1, "b_dtype": "s8"}, "x86-64-v3", "fma.v8f32", "f32", 1),
    ({**NARROW_B, "m": 1, "b_dtype": "s8"}, "x86-64-v4+vnni", "vpdpbusd", "s8", 4),
    ({**NARROW_B, "b_dtype": "bf16"}, "x86-64-v4+bf16", "fma.v16f32", "f32", 1),
    ({"dtype": "f32", "math": "3xtf32"}, "sm_80", "tf32.tf32", "tf32", 3),
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize(("fields", "target", "instruction", "operands", "products"), MULTIPLIED)
def test_arithmetic_is_that_of_the_type_that_is_multiplied(
    fields: dict[str, object], target: str, instruction: str, operands: str, products: int
) -> None:
    spec = kgen.Matmul(**{"m": 64, "n": 64, "k": 128, **fields})  # type: ignore[arg-type]
    made = kgen.build(spec, targets=[target])
    (entry,) = made.manifest.kernels
    text = next(made.files[a.file] for a in entry.artifacts if a.role != "machine-code").decode()
    assert re.search(instruction, text)
    found = figures.multiplied_by(entry)
    assert (found.operands, found.products) == (operands, products)
    work = figures.KernelWork(
        entry=entry, steps=1, flops=1000, nbytes=1, seconds=1.0, multiplied=found
    )  # fmt: skip
    rates = {"f64": 1e4, "f32": 2e4, "tf32": 4e4, "bf16": 8e4, "f16": 9e4, "s8": 3e5}
    ceilings = Ceilings(source="given", flops=rates, bandwidths={"memory": 1e9}, holds={})
    part, limit = work.reached(ceilings) or (0.0, "")
    assert part == pytest.approx(1000 * products / rates[operands])
    assert limit == f"arithmetic in {operands}"
    # A type whose rate nobody knows has no ceiling of arithmetic.
    part, limit = work.reached(dataclasses.replace(ceilings, flops={})) or (0.0, "")
    assert part == pytest.approx(1e-9) and limit == "memory"


def test_steps_are_grouped_and_sorted_by_time() -> None:
    steps = [Step(kernel=name, bindings={}) for name in "abacb"]
    assert page._by_time(steps, [0.1, 0.2, 0.3, 0.35, 0.05]) == [2, 0, 3, 1, 4]


@pytest.mark.integration
def test_states_are_shown(tmp_path: Path) -> None:
    made = kgen.compile_model(DECODER["step"], targets="gfx942", states=DECODER_STATES)
    path, out = made.save(tmp_path / "d.kgen"), tmp_path / "d.html"
    assert main(["report", str(path), "-o", str(out)]) == 0
    text = "".join(check_page(out.read_text()).words)
    assert "states, kept between runs: past.0.key f32 2×12×8, past.0.value" in text


@pytest.mark.integration
def test_a_page_of_a_program_that_does_not(encoder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(encoder), "-o", str(out), "--program", "gfx942"]) == 0
    text = "".join(check_page(out.read_text()).words)
    assert "Estimated for " in text and "without running it" in text and "not measured" in text


@pytest.mark.integration
def test_kernels_are_verified_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels of the program are verified, and no others."""
    onnx.save(mlp(), tmp_path / "m.onnx")
    made = kgen.compile_model(tmp_path / "m.onnx", ["gfx942", "native"]).bundle
    path = made.save(tmp_path / "m.kgen")
    words = ["report", str(path), "-o", str(tmp_path / "x"), "--program", "gfx942", "--verify"]
    assert main([*words, "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {check["name"]: check["finding"] for check in checks}[
        "kernels against the reference"
    ] == f"{len(made.manifest.programs[0].kernels)} of 3 are correct"


@pytest.mark.integration
def test_a_program_too_large_to_draw(
    encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The page says so instead of showing pictures."""
    from kgen.report import flow

    monkeypatch.setattr(flow, "MOST_PLACES", 100)
    why = (
        r"gfx942/main is too large to draw: it has 22 steps and \d+ bytes; the limits are 5000 "
        r"steps and 400 bytes"
    )
    words = [str(encoder), "--program", "gfx942", "-o", str(tmp_path / "x")]
    assert main(["inspect", *words, "--graph"]) == 2
    assert re.fullmatch(rf"kgen inspect: {why}\n", capsys.readouterr().err)
    assert main(["report", *words]) == 0
    assert len(re.findall(why, "".join(check_page((tmp_path / "x").read_text()).words))) == 2


def test_names_of_a_model_are_words(tmp_path: Path) -> None:
    """Names with markup are escaped."""
    model = mlp()
    for node in model.graph.node:
        node.name = EVIL
    onnx.save(model, tmp_path / "m.onnx")
    made = kgen.compile_model(tmp_path / "m.onnx", ["vulkan1.3"]).bundle
    path = made.save(tmp_path / "m.kgen")
    out = tmp_path / "report.html"
    assert main(["report", str(path), "-o", str(out), "--program", "vulkan1.3"]) == 0
    assert EVIL in "".join(check_page(out.read_text()).words)


@pytest.mark.integration
def test_a_browser_shows_it(encoder: Path, tmp_path: Path) -> None:
    """The page fetches nothing, and nothing exceeds the width of a laptop's screen."""
    needs.program("chromium", "chromium")
    out = tmp_path / "report.html"
    assert main(["report", str(encoder), "-o", str(out), "--program", "gfx942"]) == 0
    text = out.read_text()
    out.write_text(text.replace("</body>", f"{PROBE}</body>"))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,800",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", out.as_uri()],
        capture_output=True, text=True, timeout=120, env=os.environ | {"HOME": str(tmp_path)},
    )  # fmt: skip
    (found,) = re.findall(r"<pre>(.*?)</pre>", done.stdout)
    looked = json.loads(unescape(found))
    program, _ = parts(encoder, 1)
    assert looked["seen"] >= 3 * len(program.steps)
    assert looked["wrong"] == []


@pytest.mark.integration
def test_a_failed_check_is_said(
    encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from kgen.check.model import steps

    monkeypatch.setattr(steps, "ROUNDINGS", 0.0)
    monkeypatch.setattr(steps, "ERRORS", 0.0)
    out = tmp_path / "report.html"
    model = str(EXPORTED["dynamo"])
    assert main(["report", str(encoder), "-o", str(out), "--model", model]) == 1
    assert re.search(r"steps against the model: .* is wrong", capsys.readouterr().out)
    assert "failed" in "".join(check_page(out.read_text()).words)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["report", "{}", "--program", "x"], "--program x is unknown; the bundle has native/main"),
        (["report", "{}", "-o", "/no/x.html"], "output=/no/x.html: /no is not a directory;"),
        (["report", "{}", "--device", "cuda:7"], "cuda"),
        (
            ["inspect", "{}", "--graph"],
            "--graph needs the name of a file to write; add -o graph.svg",
        ),
        (["inspect", "{}", "-o", "x.svg"], "--output x.svg needs --graph; add it"),
    ],
)
def test_refusals(
    encoder: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.format(encoder) for word in words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_bundle_without_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = kgen.build(kgen.Matmul(m=8, n=8, k=8), ["vulkan1.3"]).save(tmp_path / "x.kgen")
    assert main(["report", str(path)]) == 2
    assert capsys.readouterr().err == (
        "kgen report: the bundle has no program; make one with kgen compile MODEL.onnx\n"
    )


def test_markup_is_escaped() -> None:
    assert tag("a", "<&", href='"') == '<a href="&quot;">&lt;&amp;</a>'
    assert shortened("abcdefgh", 5) == "ab…gh" and shortened("abc", 3) == "abc"

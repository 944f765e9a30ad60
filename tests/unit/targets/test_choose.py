"""Choice of a schedule: exact hit, nearest measured neighbour, cost model; and refusals."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import kgen
from kgen import pipeline, targets
from kgen.errors import SpecError, TargetError
from kgen.schedule import BlockedMatmul, Schedule, ScheduleOrigin
from kgen.spec import DType, Elementwise, Matmul, text
from kgen.targets import choose as choosing
from kgen.targets.base import Family
from kgen.targets.choose import (
    How,
    choose,
    class_of,
    distance,
    nearest,
    own_tuning,
    schedule_fields,
    sizes_of,
)
from kgen.targets.cpu.cores import fitted
from kgen.targets.cpu.schedule import cost_model
from kgen.targets.tuning import file
from kgen.targets.tuning.file import TunedRow, Tuning, TuningSource, parse, written

TARGET = targets.find("x86-64-v3")
CORE = targets.family(TARGET.family).core(TARGET)
SOURCE = TuningSource(kind="measured", machine="a CPU", day="2026-01-02", commit="abc")


@pytest.fixture(autouse=True)
def nothing_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "shipped", lambda core: None)


def product(m: int = 64, n: int = 64, k: int = 64) -> Matmul:
    return Matmul(m=m, n=n, k=k, dtype=DType.F32)


def model(spec: Matmul) -> Schedule:
    return targets.family(TARGET.family).choose(spec, TARGET)


def row(spec: Matmul, schedule: Schedule | None = None, gain: float = 1.5) -> TunedRow:
    fields = schedule_fields(schedule or model(spec))
    return TunedRow(sizes=sizes_of(spec), fields=fields, gain=gain, source="s")


def text_of(rows: Sequence[TunedRow], core: str = CORE) -> str:
    return written(core, {"s": SOURCE}, {class_of(product(), TARGET): rows})


def tuning(*rows: TunedRow, is_lenient: bool = False) -> Tuning:
    return parse(text_of(rows), "own.toml", is_lenient=is_lenient)


def smaller(spec: Matmul) -> Schedule:
    """Return a schedule that the model does not choose, for any shape."""
    chosen = model(spec)
    return dataclasses.replace(chosen, mr=1, mc=4)  # type: ignore[call-arg]


def test_a_neighbour_that_the_model_contradicts_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near, spec = product(60, 512, 512), product(64, 512, 512)
    fast = model(near)
    assert isinstance(fast, BlockedMatmul)
    slow = dataclasses.replace(fast, mr=1, nr=8, mc=60, nc=512, kc=64)
    vectors = str(TARGET.limits["vector_bytes"])
    (core, *_) = fitted()["cores"].values()

    def how(error: float, gain: float) -> How:
        table = {**core[vectors], "error": error}
        monkeypatch.setattr(cost_model, "coefficients", lambda *of: table)
        return choose(spec, TARGET, tuning(row(near, slow, gain=gain))).how

    assert how(error=0.1, gain=1.05) is How.MODEL
    # The error of a nearer row counts more.
    near = product(63, 512, 512)
    assert how(error=0.1, gain=1.05) is How.NEIGHBOUR
    near = product(60, 512, 512)
    # A measured gain or a model that is known to err outweighs the prediction.
    assert how(error=0.1, gain=100) is How.NEIGHBOUR
    assert how(error=5.0, gain=1.05) is How.NEIGHBOUR
    # The error of this model is not known.
    assert how(error=0.0, gain=1.05) is How.NEIGHBOUR


def test_without_data_the_model_chooses() -> None:
    found = choose(product(), TARGET)
    assert (found.how, found.schedule, found.neighbours) == (How.MODEL, model(product()), ())


def test_an_exact_hit_is_taken_as_it_is() -> None:
    own = tuning(row(product(), smaller(product())))
    found = choose(product(), TARGET, own)
    assert found.how is How.MEASURED and found.schedule.origin is ScheduleOrigin.TUNED
    assert schedule_fields(found.schedule) == schedule_fields(smaller(product()))
    assert found.taken is not None and found.taken.source == SOURCE


def test_a_neighbour_is_made_to_fit() -> None:
    own = tuning(row(product(), smaller(product())))
    found = choose(product(80, 70, 90), TARGET, own)
    assert found.how is How.NEIGHBOUR
    pipeline.plan(product(80, 70, 90), TARGET, found.schedule)
    assert found.schedule.to_json()["mr"] == 1


def test_rows_out_of_reach_and_of_other_classes_do_not_count() -> None:
    own = tuning(row(product(), smaller(product())))
    assert choose(product(64, 64, 64 * 9), TARGET, own).how is How.MODEL
    other = dataclasses.replace(product(), layout="nt")
    assert choose(other, TARGET, own).how is How.MODEL


def test_the_nearest_rows_are_the_nearest() -> None:
    """A plain search finds the same rows, for random rows and shapes."""
    random_ = random.Random(5)

    def shape() -> Matmul:
        return product(*(random_.randint(1, 300) for _ in range(3)))

    fields: dict[str, int | str] = {"mainloop": "blis"}
    for _ in range(20):
        rows = [
            TunedRow(sizes=sizes_of(shape()), fields=fields, gain=1.0, source="s")
            for _ in range(30)
        ]
        spec = shape()
        found = nearest(spec, TARGET, [tuning(*rows)])
        away = sorted(distance(sizes_of(spec), size) for size in {each.sizes for each in rows})
        expected = [each for each in away[: choosing.NEIGHBOURS] if each <= choosing.REACH]
        assert [each.distance for each in found] == pytest.approx(expected)


def test_the_users_rows_come_before_the_shipped_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tuning(row(product()))
    monkeypatch.setattr(choosing, "shipped", lambda core: shipped)
    own = tuning(row(product(), smaller(product())))
    assert schedule_fields(choose(product(), TARGET).schedule) == schedule_fields(model(product()))
    assert schedule_fields(choose(product(), TARGET, own).schedule) == schedule_fields(
        smaller(product())
    )


def test_fields_of_the_user_stand_on_the_measured_schedule() -> None:
    own = tuning(row(product(), smaller(product())))
    found = pipeline.schedule_for(product(), TARGET, {"kc": 32}, own)
    assert (found.to_json()["mr"], found.to_json()["kc"]) == (1, 32)
    assert found.origin is ScheduleOrigin.USER


def test_a_main_loop_of_the_user_replaces_the_measured_schedule() -> None:
    spec = product(2, 1024, 1024)
    known = [model(spec), *targets.family(TARGET.family).alternatives(spec, TARGET)]
    first = known[0].mainloop
    other = next(each.mainloop for each in known if each.mainloop != first)
    own = tuning(row(spec))
    assert pipeline.schedule_for(spec, TARGET, {"mainloop": first}, own).mainloop == first
    found = pipeline.schedule_for(spec, TARGET, {"mainloop": other}, own)
    assert (found.mainloop, found.origin) == (other, ScheduleOrigin.USER)


@pytest.mark.integration
def test_a_build_uses_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text_of([row(product(), smaller(product()))]))
    for given in (str(path), path, file.read(path)):
        bundle = kgen.build(product(), TARGET, tuning=given)
        assert bundle.manifest.kernels[0].schedule["mr"] == 1
        assert bundle.manifest.kernels[0].schedule["origin"] == "tuned"
    assert kgen.build(product(), TARGET).manifest.kernels[0].schedule["origin"] == "model"


def test_a_file_of_another_core_is_refused() -> None:
    other = parse(text_of([], "another core"), "own.toml")
    with pytest.raises(
        TargetError,
        match=r"own.toml has schedules for 'another core'; this build is for '.*'; name a file or",
    ):
        own_tuning(other, [TARGET])
    assert own_tuning(None, [TARGET]) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("64 64 64 mainloop=blis 1.5", "lacks the field mr"),
        ("64 64 64 mainloop=nope,mr=1 1.5", "mainloop=nope is not supported by x86-64-v3"),
        ("64 64 64 mr=1 1.5", "mainloop= is not supported"),
        ("64 64 64 mainloop=blis,depth=1 1.5", "depth is not a field of the blis schedule"),
        ("64 64 64 mainloop=blis,mr=x 1.5", "mr=x is not an integer"),
        ("64 64 64 mainloop=blis,mr=1,mr=1 1.5", "'mr=1' is not field=value, or occurs twice"),
        ("64 64 mainloop=blis 1.5", "it has 2 sizes, not 3"),
        ("64 64 0 mainloop=blis 1.5", "a size is 0"),
        ("64 64 a mainloop=blis 1.5", "size 'a' is not an integer"),
        ("64 64 64 mainloop=blis fast", "gain 'fast' is not a number above 0"),
        ("64 64 64 mainloop=blis 1.5 s 0us", "time '0' is not a number above 0"),
        ("mainloop=blis 1.5", "is not sizes, schedule, gain and source"),
    ],
)
def test_a_damaged_row_is_named_or_left_out(line: str, message: str) -> None:
    line += "" if line.endswith("us") else " s"
    text = text_of([]).replace("'''\n'''", f"'''\n\n{line}\n'''")
    assert line in text
    name = class_of(product(), TARGET)
    with pytest.raises(TargetError) as error:
        choose(product(), TARGET, parse(text, "own.toml"))
    assert str(error.value).startswith(f"own.toml: row 2 of class '{name}': ")
    assert message in str(error.value) and str(error.value).endswith(file.REMEDY)
    assert len(str(error.value)) <= 500
    assert choose(product(), TARGET, parse(text, "own.toml", is_lenient=True)).how is How.MODEL


def test_classes_distinguish_what_fields_count() -> None:
    """A task counts rows where an input broadcasts, and elements elsewhere."""
    lines = (
        *("relu 64x512 f32", "permute(x,1,0) 512x768 f32", "x+y 64x512,512 f32"),
        *("sum 1x4000 f32", "sum 64x512 f32 axes=0"),
        "conv2d 1x96x28x28,96x1x5x5 f32 weight_layout=hwio padding=2x2x2x2 groups=96",
        "conv2d 1x96x28x28,96x1x5x5 f32 b_dtype=s8 weight_layout=hwio padding=2x2x2x2 groups=96",
    )
    names, sizes = zip(
        *((class_of(s, TARGET), sizes_of(s)) for s in map(text.parse, lines)), strict=True
    )
    assert names[:3] == (
        "relu f32 avx2",
        "permute(x,1,0) f32 by rows avx2",
        "add f32 by rows avx2",
    )
    assert sizes[0] == (64 * 512,) and sizes[2] == (64, 512)
    assert names[5].startswith("conv2d f32 depthwise nn ")
    assert names[6].startswith("conv2d f32*s8 depthwise nn ")
    assert names[3] != names[4] and sizes[5] == (28, 28, 96, 25)
    converted = Elementwise(expression="relu(x)", shapes=((64,),), dtype="f32", out_dtype="bf16")
    assert class_of(converted, TARGET) != names[0]
    both = {"expression": "a=relu(x);b=neg(x)", "shapes": ((64,),), "dtype": "f32"}
    narrow = Elementwise(**both, out_dtypes=("f32", "s8"))  # type: ignore[arg-type]
    assert class_of(narrow, TARGET) != class_of(Elementwise(**both), TARGET)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", targets.families(), ids=lambda family: family.name)
def test_a_schedule_of_an_unsupported_spec_is_refused_as_its_build_is(family: Family) -> None:
    """Whoever ranks candidates gets the refusal that `kgen build` prints, not a traceback."""
    lines = ("matmul 8x8x8", "conv2d 1x8x8x8,8x8x3x3", "attention q=1x2x64x64,k=1x2x64x64")
    refused = 0
    for target, dtype, line in itertools.product(
        family.targets, DType, (*lines, "softmax 8x64", "relu 64")
    ):
        try:
            spec = text.parse(f"{line} {dtype}")
        except SpecError:
            continue
        try:
            family.check_support(spec, target)
        except TargetError as error:
            for ask in (family.candidates, family.choose):
                with pytest.raises(TargetError, match=f"^{re.escape(str(error))}$"):
                    ask(spec, target)
            refused += 1
    assert refused

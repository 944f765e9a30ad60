"""perf_budgets.toml: accepted entries, and the line of every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.check.gate import budgets, entries
from kgen.check.gate.metrics import METRICS, BudgetSide, Tier, find
from kgen.check.gate.toml_spans import places
from kgen.errors import BudgetError, SpecError
from kgen.spec import DType, Layout, Matmul
from kgen.spec.text import parse
from tests.specs import relu_of, softmax_of

GOOD = """\
[toolchain]
ptxas = "nvidia-cuda-nvcc-cu12==12.9.86"

[defaults]
spills = 0

[[budget]]
kernel = "matmul 64x64x64 f16 +bias+relu"
target = "sm_80"
why = "it matters"
static = { registers = 128, matrix_share = 0.4 }
emulated = { global_sectors = 100, "load.global" = 7 }
measured = { against = "torch", ratio = 1.0 }

[[budget]]
kernel = "relu 1024 f32" # a comment = 3
target = "vulkan1.3"
why = '''
several
[[budget]] lines
'''
[budget.static]
shared_memory = 0
"""


def load(text: str) -> budgets.Budgets:
    return budgets.parse_text(text, Path("b.toml"))


def test_a_good_file() -> None:
    first, second = load(GOOD).entries
    assert isinstance(first, budgets.BudgetEntry)
    assert first.spec == Matmul(m=64, n=64, k=64, epilogue=("bias", "relu"))
    assert (first.target.name, first.against, first.line) == ("sm_80", "torch", 7)
    limits = {limit.metric.name: limit.value for limit in first.limits}
    assert limits == {
        "registers": 128, "matrix_share": 0.4, "global_sectors": 100, "load.global": 7,
        "ratio": 1.0, "spills": 0,
    }  # fmt: skip
    assert [limit.default for limit in second.limits] == [False, True]
    assert second.why == "several [[budget]] lines"


def test_a_default_gives_way_to_a_limit_of_the_kernels_own() -> None:
    entry = load(GOOD.replace("registers = 128", "spills = 8")).entries[0]
    assert [limit.value for limit in entry.limits if limit.metric.name == "spills"] == [8]


def test_places_are_those_of_the_values() -> None:
    found = places(GOOD)
    values = {path: GOOD[place.start : place.stop] for path, place in found.items()}
    assert values["budget", 0, "static", "matrix_share"] == "0.4"
    assert values["budget", 0, "emulated", "load.global"] == "7"
    assert values["budget", 1, "static", "shared_memory"] == "0"
    lines = GOOD.splitlines()
    for path, place in found.items():
        assert str(path[-1]) in lines[place.line - 1] or isinstance(path[-1], int)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("registers", "registrs", 11, "metric=registrs is unknown; try registers"),
        ("spills", "spill", 5, "metric=spill is unknown; try spills"),
        ("registers = 128", "barriers = 1", 11, "barriers is a metric of the emulated tier"),
        ("registers = 128", "registers = true", 11, "registers must be a number"),
        ("registers = 128", "registers = -1", 11, "registers=-1 is out of range"),
        ("registers = 128", "registers = nan", 11, "registers=nan is out of range"),
        ("registers = 128", "registers = 1" + "0" * 400, 11, "give 0 or more, below 2^63"),
        ("registers = 128", "registers = 1" + "0" * 9999, 11, "more than a thousand digits"),
        ("sm_80", "sm_81", 9, "target=sm_81 is unknown; try"),
        ("vulkan1.3", "native", 17, "target=native differs between machines"),
        ("matmul 64x64x64", "matmul 64x64", 8, "shape=64x64 has 2 sizes; give 3, as MxNxK"),
        ("matmul", "conv", 8, "op=conv is unknown"),
        ("f16 +bias", "f17 +bias", 8, "dtype=f17 is unknown"),
        ("f16 +bias", "f64 +bias", 8, "dtype=f64 is not supported by sm_80 for matmul"),
        ("f16 +bias", "f16 lda=3 +bias", 8, "lda=3 is out of range"),
        ("why = \"it", "because = \"it", 10, "because is unknown; known are kernel, target"),
        ("why = \"it matters\"\n", "", 7, "why is missing"),
        ("why = \"it matters\"", "schedule = {num_stages=99}\nwhy='x'", 8, "num_stages=99 needs"),
        ("why = \"it matters\"", "schedule = {stages=2}\nwhy='x'", 8, "stages=2 is not a field of"),
        ("why = \"it matters\"", "schedule = {num_stages='2'}\nwhy='x'", 10, "must be an integer"),
        ("why = \"it matters\"", "schedule = {mainloop='fma'}\nwhy='x'", 8, "take mma"),
        ("\"torch\"", "\"mkl\"", 13, "against=mkl is unknown; known are numpy, torch"),
        (", ratio = 1.0", "", 13, "measured needs a ratio"),
        ("against = \"torch\", ", "", 13, "against is missing"),
        ("ratio = 1.0", "ratio = 1.0, by_core = { \"Zen 4\" = 2 }", 13, "by_core applies to CPU"),
        ("[defaults]", "[default]", 4, "default is unknown; known are toolchain, defaults"),
        ("spills = 0", "ratio = 1", 5, "ratio cannot be a default"),
        ("nvidia-cuda-nvcc-cu12==12.9.86", "12.9.86", 2, "must be a pip requirement, NAME=="),
        ("[budget.static]", "[budget.emulated]", 22, "no emulator runs vulkan1.3 kernels"),
        ("spills = 0", "spills = ", 5, "not TOML: Invalid value"),
        ("shared_memory = 0", "shared_memory = '''", 24, "not TOML: Expected"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in GOOD
    with pytest.raises(BudgetError) as error:
        load(GOOD.replace(old, new, 1))
    assert str(error.value).startswith(f"b.toml:{line}: "), error.value
    assert message in str(error.value) and "\n" not in str(error.value)


BY_CORE = """\
[[budget]]
kernel = "matmul 64x64x64 f32"
target = "x86-64-v3"
why = "it matters"
measured = { against = "numpy", ratio = 0.5, by_core = { "Zen 4" = 0.8, "Golden Cove" = 0.6 } }
"""


def test_a_ratio_by_core() -> None:
    (entry,) = load(BY_CORE).entries
    found = {}
    for core in ("Zen 3", "Zen 4", "Golden Cove"):
        (limit,) = entry.on(core).limits
        found[core] = (limit.value, limit.core, limit.place.line)
    assert found == {
        "Zen 3": (0.5, "", 5),
        "Zen 4": (0.8, "Zen 4", 5),
        "Golden Cove": (0.6, "Golden Cove", 5),
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"Zen 4"', '"Zen 9"', "core=Zen 9 is unknown; known are Golden Cove, Haswell, "),
        ("0.8", "'x'", "ratio must be a number"),
        ("0.8", "-1", "ratio=-1 is out of range"),
        ('{ "Zen 4" = 0.8, "Golden Cove" = 0.6 }', "3", "by_core must be a table"),
        ("ratio = 0.5, ", "", "measured needs a ratio"),
    ],
)
def test_what_is_wrong_in_a_table_of_cores(old: str, new: str, message: str) -> None:
    assert old in BY_CORE
    with pytest.raises(BudgetError, match=rf"b\.toml:5: {message}"):
        load(BY_CORE.replace(old, new, 1))


def test_a_draft_names_its_main_loop() -> None:
    schedule: dict[str, int | str] = {"mainloop": "mma", "num_stages": 2}
    draft = entries.draft("matmul 64x64x64 f16", "sm_80", schedule, 'for "speed"')
    entry = entries.read_draft(GOOD, draft, Path("b.toml"))
    assert entry.schedule == schedule and entry.why == 'for "speed"'


def test_a_duplicate_is_named_with_both_lines() -> None:
    again = GOOD[GOOD.index("[[budget]]") : GOOD.index('[[budget]]\nkernel = "relu')]
    with pytest.raises(BudgetError, match=r"b.toml:24: .*already has a budget on line 7"):
        load(GOOD + again.replace("64x64x64 f16", "64x64x64 f16  layout=nn"))
    other = again.replace("why", "schedule = { num_stages = 2 }\nwhy")
    assert len(load(GOOD + other).entries) == 3


def test_a_file_without_budgets_and_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match=r"b.toml:1: the file has no \[\[budget\]\]"):
        load("")
    with pytest.raises(BudgetError, match=r"b.toml:1: budget must be a table"):
        load("budget = [3]")
    with pytest.raises(BudgetError, match=r"b.toml:1: defaults must be a table"):
        load("defaults = 3\n" + GOOD.replace("[defaults]", "[toolchain.x]"))
    with pytest.raises(BudgetError, match="cannot be read: No such file or"):
        budgets.load(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("matmul 1x2x3 f16", Matmul(m=1, n=2, k=3)),
        (
            "matmul 1x2x3 bf16 out=f32 layout=nt lda=8 ldb=16 ldc=32 batch=2 batch_stride_a=0 "
            "batch_stride_b=64 batch_stride_c=64 alpha=0.5 beta=-2 +bias+gelu",
            Matmul(
                m=1, n=2, k=3, dtype=DType.BF16, out_dtype=DType.F32, layout=Layout.NT, lda=8,
                ldb=16, ldc=32, batch=2, batch_stride_a=0, batch_stride_b=64, batch_stride_c=64,
                alpha=0.5, beta=-2.0, epilogue=("bias", "gelu"),
            ),
        ),
        ("log_softmax 4x8 f16 out=f32", softmax_of(4, 8, out_dtype=DType.F32, log=True)),
        ("relu 4x8x2 f32", relu_of((4, 8, 2), dtype=DType.F32)),
    ],
)  # fmt: skip
def test_every_field_of_a_spec_can_be_named(text: str, spec: object) -> None:
    assert parse(text) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("matmul", "; write one such as 'matmul 1024x"),
        (
            "softmax 4x8 f16 layout=nt",
            "layout is not an option of rowwise; its options are axes dtypes out_dtype out_dtypes",
        ),
        ("relu 4 f16 +relu", "epilogue is not an option of relu"),
        ("softmax 4x8 f16 axes", "axes has no value"),
        ("matmul 1x1x1 f16 lda", "lda has no value"),
        ("matmul 1x1x1 f16 lda=x", "lda=x is not an integer"),
        ("matmul 1x1x1 f16 alpha=x", "alpha=x is not a number"),
        ("matmul 1x1x1 f16 m=2", "m is not an option of matmul"),
        ("matmul 1x1x1 f16 lda=1 lda=2", "gives lda twice"),
        ("matmul 1x1x1 f16 +swash", "epilogue=swash is unknown"),
        ("matmul 1x1x1 f16 batch_stride_b=0", "batch_stride_b needs a batch; add batch=N"),
        ("relu x4 f16", "shape=x4: '' is not an integer"),
    ],
)
def test_specs_that_are_none(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        parse(text)
    assert message in str(error.value)


def test_metrics_have_one_name_each_and_a_meaning() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert all(metric.meaning and metric.unit for metric in METRICS)
    minima = {metric.name for metric in METRICS if metric.bound is BudgetSide.MINIMUM}
    by_drivers = {name for name in minima if name.startswith(("radv.", "nvk."))}
    assert minima - by_drivers == {"matrix_share", "occupancy", "ratio", "copies_in_flight"}
    assert by_drivers == {
        "radv.occupancy", "radv.matrix_instructions", "radv.matrix_share",
        "nvk.occupancy", "nvk.matrix_instructions",
    }  # fmt: skip
    assert find("bank_conflicts").tier is Tier.EMULATED

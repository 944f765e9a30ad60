"""`kgen emulate` runs kernels that kgen did not make."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from kgen.cli.main import main
from kgen.emulate import MAX_WORKGROUPS, arguments
from kgen.emulate.ptx.order import tags
from kgen.emulate.tensor_map import TensorMap

HOPPER = Path(__file__).parents[2] / "emulate" / "data" / "hopper" / "gemm.ptx"
SAXPY = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .u64 %px, %py, %at;
    .reg .u32 %i, %cta, %threads, %n;
    .reg .f32 %x, %y, %a;
    .reg .pred %out;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %cta, %threads, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %out, %i, %n;
    @%out ret;
    ld.param.u64 %px, [x];
    ld.param.u64 %py, [y];
    ld.param.f32 %a, [a];
    mad.wide.u32 %at, %i, 4, %px;
    ld.global.f32 %x, [%at];
    mad.wide.u32 %at, %i, 4, %py;
    ld.global.f32 %y, [%at];
    fma.rn.f32 %y, %a, %x, %y;
    st.global.f32 [%at], %y;
    ret;
}
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saxpy.ptx").write_text(SAXPY)
    (tmp_path / "saxpy.ll").write_text("")
    np.save("x.npy", np.arange(100, dtype=np.float32))
    np.save("y.npy", np.ones(100, np.float32))
    with (tmp_path / "vast.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**14,)}
        np.lib.format.write_array_header_1_0(file, header)
    return tmp_path


def saxpy(*, n: int = 100, y: str = "inout:y.npy:z.npy", extra: tuple[str, ...] = ()) -> list[str]:
    launch = ["emulate", "saxpy.ptx", "--entry", "saxpy", "--grid", "4", "--block", "32"]
    values = ["in:x.npy", y, "f32:2.5", f"u32:{n}"]
    return [*launch, *(f"--arg={v}" for v in values), *extra]


@pytest.mark.integration
def test_results_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(saxpy()) == 0
    assert "no fault under seeds 0 to 2; 4 workgroups" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load("z.npy"), np.arange(100) * 2.5 + 1)


@pytest.mark.integration
def test_a_fault_is_a_failed_check_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    assert main(saxpy(n=128)) == 1
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("out-of-bounds: ")
    assert "line 22" in first
    assert "offset 400 of 400 bytes" in first
    # The load of y and the store to z go past their ends too.
    assert [other.partition(":")[0] for other in others] == ["out-of-bounds"] * 2
    assert not (files / "z.npy").exists()
    assert main(saxpy(n=128, extra=("--json",))) == 1
    assert json.loads(capsys.readouterr().out)["fault"]["workgroup"] == [3, 0, 0]


@pytest.mark.integration
def test_outputs_start_as_nan() -> None:
    assert main(saxpy(n=0, y="out:f32:10x10:z.npy")) == 0
    assert np.isnan(np.load("z.npy")).all()


def test_tensor_maps_take_what_is_left_out_from_the_array() -> None:
    np.save("half.npy", np.zeros((64, 32), np.float16))
    first, second, third = arguments.parse(
        [
            'tensormap:{"tensor": "inout:half.npy:z.npy", "box": [16, 8], "swizzle": 32}',
            'tensormap:{"tensor": 0, "box": [8], "shape": [2048], "dtype": "bf16"}',
            "in:half.npy",
        ]
    )
    one, other = first.value, second.value
    assert isinstance(one, TensorMap) and isinstance(other, TensorMap)
    assert (one.dtype, tuple(one.shape), one.byte_strides) == ("f16", (32, 64), (2, 64))
    assert first.output == Path("z.npy") and second.output is None
    assert other.buffer is one.buffer and other.dtype == "bf16"
    assert isinstance(third.value, np.ndarray)


@pytest.mark.integration
def test_a_kernel_that_takes_tensor_maps() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (128, 64))
    np.save("a.npy", a)
    np.save("b.npy", b)
    boxes = {"in:a.npy": 128, "in:b.npy": 64, "out:f16:128x64:c.npy": 64}
    maps = [
        f'--arg=tensormap:{{"tensor": "{tensor}", "box": [64, {rows}], "swizzle": 128}}'
        for tensor, rows in boxes.items()
    ]
    launch = ["emulate", str(HOPPER), "--entry=gemm", "--grid=1", "--block=384"]
    launch += ["--dynamic-shared=90160", *maps, "--arg=u32:1", "--arg=u32:1", "--arg=u32:1"]
    assert main(launch) == 0
    np.testing.assert_array_equal(np.load("c.npy"), a.astype(int) @ b.astype(int).T)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (saxpy(y="at:y.npy"), "--arg at:y.npy is unknown; give in:FILE"),
        (
            saxpy(y="in:none.npy"),
            "none.npy cannot be read: No such file or directory; name a .npy file",
        ),
        (
            saxpy(y="out:f32:0x4:z.npy"),
            "shape 0x4 is not integers of 1 or more joined by x; the form is out:TYPE",
        ),
        (
            saxpy(y="out:i32:99999999999999:z.npy"),
            "--arg out:i32:99999999999999:z.npy needs 399999999999996 bytes of memory; ",
        ),
        (
            saxpy(y=f"out:i32:{10**24}:z.npy"),
            f"needs {4 * 10**24} bytes of memory; ",
        ),
        (
            saxpy(y=f"out:i32:{'1x' * 64}1:z.npy"),
            f" ... has 65 dimensions; at most {arguments.MAX_DIMENSIONS} are allowed; merge some",
        ),
        (
            saxpy(y=f"out:i32:{'9' * 5000}:z.npy"),
            "999 ... is not integers of 1 or more joined by x",
        ),
        (saxpy(y="in:vast.npy"), "--arg vast.npy cannot be read: Unable to allocate"),
        (
            saxpy(extra=("--seeds=1000000001",)),
            "--seeds 1000000001 is above the limit of 1000000000;",
        ),
        (saxpy(y="inout:y.npy:no/z.npy"), "inout:y.npy:no/z.npy: there is no folder no; make it"),
        (saxpy(y="inout:y.npy:."), "inout:y.npy:.: . is a folder; name a file"),
        (
            saxpy(y="out:f32:1024"),
            "--arg out:f32:1024 names no output file; the form is out:TYPE:SHAPE:FILE, as in out:f",
        ),
        (saxpy(y="out:f32"), "shape '' is not integers of 1 or more joined by x; the form"),
        (saxpy(y="out"), "--arg out is unknown; give in:FILE, inout:FILE:FILE, out:TYPE:SHAPE:FI"),
        (
            saxpy(y="inout:y.npy"),
            "names no output file; the form is inout:FILE:FILE, as in inout:a",
        ),
        (saxpy(extra=("--arg=f32:fast",)), "f32:fast: f32 takes a number, as in f32:0.5"),
        (saxpy(extra=("--arg=i8:300",)), "i8:300: i8 takes an integer from -128 to 127, as in"),
        (
            saxpy(extra=("--arg=u32:1",)),
            "takes these arguments: x (8 bytes), y (8 bytes), a (4 bytes), n (4 bytes); it got 5",
        ),
        (saxpy(extra=("--grid=1,1,1,1",)), "--grid 1,1,1,1 has 4 dimensions"),
        (
            ["emulate", "x.cu", *saxpy()[2:]],
            "file=x.cu: this is source code: compile to PTX with nvcc",
        ),
        (["emulate", "x.ptx", *saxpy()[2:]], "file=x.ptx cannot be read"),
        ([*saxpy()[:3], "sgemm", *saxpy()[4:]], "sgemm"),
        (
            saxpy(extra=("--dynamic-shared=999999999",)),
            "saxpy: 999999999 bytes of shared memory; sm_80 allows 166912; try",
        ),
        (
            saxpy(extra=("--dynamic-shared=200000", "--arch=sm_75")),
            "saxpy: 200000 bytes of shared memory; sm_75 allows 65536; try",
        ),
        (saxpy(extra=("--arch=foo",)), "--arch foo of a .ptx file is unknown; known are sm_50, sm"),
        (saxpy(extra=("--arch=gfx942",)), "--arch gfx942 of a .ptx file is unknown; known are"),
        (saxpy(extra=("--arch=sm_80x",)), "is unknown; the nearest of 33 are sm_80"),
        (saxpy(extra=("--arch=sm_80:x",)), "--arch sm_80:x of a .ptx file is unknown"),
        (saxpy(extra=("--arch=",)), "--arch '' of a .ptx file is unknown"),
        (
            ["emulate", "saxpy.ll", *saxpy(extra=("--arch=sm_80",))[2:]],
            "--arch sm_80 of a .ll file is unknown; known are gfx900",
        ),
        (saxpy(extra=("--grid=1,65536",)), "65536 workgroups along y of the grid; sm_80 allows"),
        (
            saxpy(extra=("--cluster=2",)),
            "2 workgroups in a cluster; sm_80 allows 1; leave the cluster out",
        ),
        (saxpy(y="in:saxpy.ptx"), "--arg saxpy.ptx is not a .npy file; write one with numpy.save"),
        (
            saxpy(extra=("--grid=2000000000",)),
            "the launch has 2000000000 workgroups; one run takes at most 1048575; use",
        ),
        (
            saxpy(extra=("--cluster=0",)),
            "--cluster 0 is not one to three integers of 1 or more",
        ),
        (
            ["emulate", "saxpy.ll", *saxpy(extra=("--cluster=2",))[2:]],
            "--cluster 2 applies to PTX only",
        ),
        (saxpy(y="tensormap:{}"), "is not tensormap: and a JSON object with a tensor"),
        (saxpy(y='tensormap:["in:y.npy"]'), "is not tensormap: and a JSON object with a tensor"),
        (saxpy(y='tensormap:{"tensor": "at:y.npy", "box": [4]}'), "--arg at:y.npy is unknown"),
        (
            saxpy(y='tensormap:{"tensor": 1, "box": [4]}'),
            "tensor=1 is not the number, from 0, of an earlier",
        ),
        (saxpy(y='tensormap:{"tensor": "in:y.npy", "boxes": [4]}'), "boxes is unknown; known are"),
        (saxpy(y='tensormap:{"tensor": "in:y.npy"}'), "box"),
        (saxpy(y='tensormap:{"tensor": "in:y.npy", "box": 4}'), "tensormap:"),
        (saxpy(y='tensormap:{"tensor": "in:y.npy", "box": [2]}'), "the tensor map has rows of 8"),
    ],
)
def test_bad_input(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    before = sorted(files.iterdir())
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out
    assert len(captured.err) <= len("kgen emulate: \n") + 500
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("k.cubin", "this is machine code: compile to PTX with nvcc -ptx"),
        ("k.o", "this is machine code: compile to PTX with nvcc -ptx"),
        ("k.hsaco", "this is machine code: compile to LLVM IR with hipcc -S -emit-llvm"),
        ("k.ptx", "this is machine code: compile to PTX with nvcc -ptx"),
        ("k.ll", "this is machine code: compile to LLVM IR with hipcc -S -emit-llvm"),
        ("k.hip", "this is source code: compile to LLVM IR with hipcc -S -emit-llvm"),
        ("k.txt", "must end in .ptx (PTX) or .ll (AMDGPU LLVM IR); rename it"),
        ("k.kgen", "this is a bundle: run kgen verify --on emulator on it"),
    ],
)
def test_a_file_that_is_not_a_kernel_text(
    name: str, remedy: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / name).write_bytes(b"\x7fELF\x02\x01\x01")
    assert main(["emulate", name, *saxpy()[2:]]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"kgen emulate: file={name}") and remedy in message


def test_a_launch_that_memory_cannot_hold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_out(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr("kgen.emulate.run", run_out)
    assert main(saxpy()) == 2
    assert capsys.readouterr().err == (
        "kgen emulate: saxpy: Unable to allocate 9 GiB; pass smaller arrays, or --seeds 1\n"
    )


@pytest.mark.parametrize("kind", ["out:f32:100", "inout:y.npy"])
def test_a_pipe_is_not_replaced_and_nothing_runs(
    kind: str,
    capsys: pytest.CaptureFixture[str],
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgen.emulate.run", None)
    os.mkfifo("pipe")
    assert main(saxpy(y=f"{kind}:pipe")) == 2
    err = capsys.readouterr().err
    assert f"--arg {kind}:pipe: it is a device, pipe or folder, not a plain file; name ano" in err
    assert err.count("\n") == 1 and (files / "pipe").is_fifo()


@pytest.mark.integration
@pytest.mark.parametrize("arch", ["sm_52", "sm_90", "sm_90a", "sm_100f"])
def test_a_device_need_not_be_a_target_of_kgen(arch: str) -> None:
    assert main(saxpy(extra=(f"--arch={arch}",))) == 0


def test_checks_tell_all_workgroups_of_a_run_apart() -> None:
    last = np.array([MAX_WORKGROUPS])
    one = tags.tag(np.array([5]), last, np.array([tags.THREAD]))
    assert tags.labels_of(one) == last and one >> tags.TIME == 5


# Takes it for granted that workgroups come in the order of their numbers.
TICKETS = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry tickets(.param .u64 count)
{
    .reg .u64 %count;
    .reg .u32 %ticket, %cta;
    .reg .pred %other;
    ld.param.u64 %count, [count];
    atom.relaxed.gpu.global.add.u32 %ticket, [%count], 1;
    mov.u32 %cta, %ctaid.x;
    setp.ne.u32 %other, %ticket, %cta;
    @%other trap;
    ret;
}
"""


def tickets(files: Path, *extra: str) -> list[str]:
    (files / "tickets.ptx").write_text(TICKETS)
    np.save("count.npy", np.zeros(1, np.uint32))
    launch = ["emulate", "tickets.ptx", "--entry=tickets", "--grid=8", "--block=1"]
    return [*launch, "--arg=inout:count.npy:after.npy", *extra]


@pytest.mark.integration
def test_what_the_first_schedule_hides_another_shows(
    capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    assert main(tickets(files)) == 1
    out = capsys.readouterr().out
    assert out.startswith("trap") and ", seed 1)" in out
    assert main(tickets(files, "--json")) == 1
    assert json.loads(capsys.readouterr().out)["fault"]["seed"] == 1
    # One schedule, by name or by number.
    assert main(tickets(files, "--seed=1")) == 1
    assert main(tickets(files, "--seed=0")) == 0
    assert "no fault under seed 0;" in capsys.readouterr().out
    # Every schedule starts from the same data, and the first one's results are kept.
    assert main(tickets(files, "--seeds=1", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == [0]
    assert np.load("after.npy").tolist() == [8]


def test_schedules_are_asked_for_by_a_number_or_by_a_seed(
    capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    for wrong in ("--seeds=0", "--seeds=some", "--seed=-1"):
        assert main(tickets(files, wrong)) == 2
        assert "is not an integer of" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(tickets(files, "--seeds=2", "--seed=1"))


@pytest.mark.integration
def test_a_profile_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    def counters(*extra: str) -> object:
        assert main(saxpy(extra=("--profile", "--json", *extra))) == 0
        return json.loads(capsys.readouterr().out)["counters"]

    assert counters() == counters("--seeds=1")


@pytest.mark.integration
def test_writes_of_the_same_value_are_a_warning_unless_strict(
    capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    # Every CTA writes the first words of y, from x alone.
    argv = saxpy(n=32)
    stores = SAXPY.replace("mov.u32 %cta, %ctaid.x;", "mov.u32 %cta, 0;").replace(
        "fma.rn.f32 %y, %a, %x, %y;", "mul.f32 %y, %a, %x;"
    )
    (files / "saxpy.ptx").write_text(stores.replace("ld.global.f32 %y, [%at];", ""))
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert out.startswith("warning: same-value-write: ") and out.count("warning:") == 1
    assert main([*argv, "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning["kind"] == "same-value-write"
    assert main([*argv, "--strict"]) == 1
    assert capsys.readouterr().out.startswith("race: ")


def test_a_file_that_is_no_text_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.ptx"
    file.write_bytes(b".version 7.0\n\xff")
    assert main(["emulate", str(file), "--entry=f", "--grid=1", "--block=1"]) == 2
    assert (
        "cannot be read: byte 13 is not UTF-8 text; name a file of PTX" in capsys.readouterr().err
    )

"""Command line: bad input gives one line on stderr, exit status 2, and leaves no file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kgen
from kgen.cli.main import main
from tests.specs import relu_of


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        status = main(argv)
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


HEADS = "q=1x1x4x8,k=1x1x16x8"
BUILD = ("build", "--shape", "16x16x16", "--target", "sm_80")


def build(**options: str) -> list[str]:
    """Return a valid build command with some options replaced."""
    fields = {"shape": "16x16x16", "target": "sm_80"} | options
    return ["build", *(f"--{k.replace('_', '-')}={v}" for k, v in fields.items())]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (build(target="sm_8"), "target=sm_8 is unknown; try sm_80, sm_86, sm_89, or see"),
        (build(op="conv"), "op=conv is unknown; did you mean conv2d? known are matmul, conv2d,"),
        (build(dtype="f17"), "dtype=f17 is unknown; did you mean f16? known are"),
        (build(epilogue="bais"), "epilogue=bais is unknown; did you mean bias? known are"),
        (build(op="sotfmax"), "op=sotfmax is unknown; did you mean softmax? known are"),
        (build(op="relu", shape=f"{10**22}"), "give 1 to 9223372036854775807"),
        (build(epilogue="swash"), "epilogue=swash is unknown"),
        (build(layout="nx"), "layout=nx is unknown"),
        (build(shape="16x16"), "does not have the form MxNxK; give 3 sizes such as 64x64x64"),
        (build(shape="0x1x1"), "m=0 is out of range; give 1 to 1048576"),
        (build(shape="-1x1x1"), "m=-1 is out of range"),
        (["build", "--target", "sm_80", "--shape", "-1x1x1"], "m=-1 is out of range"),
        (build(shape="axbxc"), "--shape axbxc: a is not an integer"),
        ([""], "kgen: '' is unknown; known are build"),
        (build(op="+".join(["x"] * 4000), shape="4"), "...': it nests more than 128 calls"),
        (
            build(op="x+" * 100 + "nope(x)", shape="4"),
            "+nope(x)': column 201: there is no function",
        ),
        (build(op="x +" * 2000, shape="4"), "not a formula; write one such as"),
        (build(shape="4x"), "--shape 4x does not have the form MxNxK"),
        (build(op="relu", shape="4x"), "shape=4x: '' is not an integer; give sizes such as"),
        (build(shape=""), "--shape '' does not have the form MxNxK"),
        (build(shape="\u0663x1x1"), "is not an integer"),
        (build(shape="1_0x1x1"), "--shape 1_0x1x1: 1_0 is not an integer"),
        (build(shape="9" * 5000 + "x1x1"), "999... is not an integer"),
        (build(constant="b="), "--constant b= has no file name; write b=FILE.npy, or b alone"),
        (build(tune_cache="x.json"), "--tune-cache is not an option any more; run kgen tune"),
        (build(constant="c"), "constant=c is unknown; known are b"),
        (
            build(constant="b=absent.npy"),
            "constant 'absent.npy' cannot be read: No such file or directory; name a .npy file",
        ),
        (build(op="relu", constant="b"), "--constant is not an option of --op relu; leave it out"),
        (build(layout=""), "layout= is unknown"),
        (build(target="sm_80,sm_80"), "sm_80/matmul_16x16x16_f16_nn is requested twice"),
        (
            [*BUILD, "matmul 16x16x16 f16"],
            "sm_80/matmul_16x16x16_f16_nn is requested twice; name each kernel and target once",
        ),
        (build(target="sm_80,"), "target= is unknown"),
        (build(alpha="1e300"), "alpha=1e+300 is out of the range of f32"),
        (build(batch="2", batch_stride="a=1,a=2"), "--batch-stride a=1,a=2 sets a twice"),
        (build(op="relu", shape="9999999999999x9999999999"), "the limit is 9223372036854775807"),
        (build(dtype="f64"), "dtype=f64 is not supported by sm_80 for matmul"),
        (build(output="nowhere/x.kgen"), "nowhere is not a directory"),
        (build(output="."), "is a directory; give a file name"),
        (build(output="new/"), "output=new/ is a directory; give a file name"),
        (build(output=""), "output='' is not a file name"),
        (build(output="x" * 300), "cannot be written: File name too long; choose another"),
        (
            build(schedule="block_m"),
            "--schedule block_m does not have the form NAME=N; give one such as block_m=4",
        ),
        (
            build(batch="2", batch_stride="a=x"),
            "--batch-stride a=x is not an integer for each dimension; give one such as 1024",
        ),
        (
            build(op="attention", shape=HEADS, page_size="x"),
            "--page-size x is not an integer; give one such as",
        ),
        (
            build(op="attention", shape=HEADS, mask_value="x"),
            "--mask-value x is not a number; give one such as",
        ),
        (
            build(op="softmax", shape="4x4", axes="x"),
            "--axes x is not an integer; give one such as 1",
        ),
        (build(schedule="depth=3"), "kgen build: depth=3 is not a field of the mma schedule"),
        (
            build(target="native,sm_80", schedule="mr=1"),
            "target=sm_80: mr=1 is not a field of the mma",
        ),
        (build(schedule="num_stages=0"), "num_stages=0 must be an integer of 1 or more"),
        (build(alpha="fast"), "--alpha fast is not a number"),
        (build(batch_stride="b=0"), "--batch-stride needs a batch; add --batch N"),
        (
            build(batch="2", batch_stride="d=4"),
            "--batch-stride d=4 does not have the form a=N, b=N, c=N",
        ),
        (build(op="relu", shape="4", batch="2"), "--batch is not an option of --op relu"),
        (
            build(op="softmax", shape="4x4", layout="nn"),
            "--layout is not an option of --op softmax",
        ),
        (["build", "--shape", "1x1x1"], "the following arguments are required: --target"),
        (
            ["inspect", "none.kgen"],
            "none.kgen: cannot read: No such file or directory; check the path",
        ),
        (["inspect", os.devnull], "cannot read: it is a pipe or device, not a plain file"),
        (["verify", "none.kgen"], "none.kgen: cannot read"),
        (build(target="vulkan"), "target=vulkan is unknown; try vulkan1.1, vulkan1.3, vulkan1.3+"),
        (build(target="cpu"), "target=cpu is unknown; try x86-64, x86-64-v3"),
        (build(target=""), "target= is unknown; try native, sm_75"),
        (["compile", "m.onnx", "--target", "sm_80,,"], "target= is unknown; try native, sm_75"),
        (["compile", "m.onnx", "--target", "sm_80,sm_80"], "names sm_80 twice; name each once"),
        (build(tuning="nowhere/x.toml"), "nowhere/x.toml cannot be read: "),
        (["frobnicate"], "kgen: frobnicate is unknown; known are build, compile, inspect"),
        (["--frobnicate"], "kgen: --frobnicate is unknown; see kgen --help"),
        ([*BUILD, "--fast"], "kgen build: --fast is unknown; see kgen build --help"),
        (build(schedule="mainloop=fma"), "mainloop=fma is not supported by sm_80 for matmul_16x16"),
        (build(schedule="blokc_m=4"), "mma schedule; did you mean block_m? its fields are"),
        (build(schedule="mainlop=mma"), "is not an integer; did you mean mainloop?"),
        (build(schedule="mainloop=mma,depth=1"), "depth=1 is not a field of the mma schedule"),
    ],
)
def test_bad_input(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert message in err and err.count("\n") == 1, err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_a_schedule_that_does_not_fit_names_the_limit_and_a_value_that_fits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = build(shape="1024x1024x1024", schedule="num_stages=50")
    status, _, err = run(capsys, *argv)
    assert status == 2
    stages = re.search(r"num_stages=50 needs \d+ B .*sm_80 allows \d+; try num_stages=(\d+)", err)
    assert stages, err
    argv = build(shape="1024x1024x1024", schedule=f"num_stages={stages[1]}")
    assert run(capsys, *argv)[0] == 0
    assert [p.suffix for p in tmp_path.iterdir()] == [".kgen"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("target", "field"),
    [("sm_80", "block_m=4096"), ("gfx942", "warp_m=3"), ("vulkan1.3", "block_k=4096"),
     ("x86-64-v3", "mr=100")],
)  # fmt: skip
def test_the_advice_works(target: str, field: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Following the advice may meet a second limit, whose advice works, too."""
    status, _, err = run(capsys, *build(shape="1024x1024x1024", target=target, schedule=field))
    advice = re.search(r"; try (\w+=\d+)$", err.strip())
    assert status == 2 and advice, err
    argv = build(shape="1024x1024x1024", target=target, schedule=advice[1])
    assert run(capsys, *argv)[0] == 0


def test_an_output_that_is_no_plain_file_is_left_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    status, _, err = run(capsys, *build(output=str(pipe)))
    assert status == 2 and "is a device or pipe, not a plain file" in err
    assert pipe.is_fifo()


@pytest.mark.integration
def test_build_inspect_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, *BUILD, "-o", "x.kgen", "--json")
    assert status == 0
    built = json.loads(out)
    assert built["bundle"] == "x.kgen"
    (kernel,) = built["kernels"]
    assert set(kernel) == {"kernel", "target", "schedule", "resources", "bytes", "seconds"}
    status, out, _ = run(capsys, "inspect", "x.kgen", "--json")
    assert status == 0 and json.loads(out)["kernels"][0]["key"] == kernel["kernel"]
    status, out, _ = run(capsys, "inspect", "x.kgen", "--source", "sm_80")
    assert status == 0 and ".entry matmul_16x16x16_f16_nn" in out
    status, out, _ = run(capsys, "inspect", "x.kgen")
    assert status == 0 and "matmul_16x16x16_f16_nn.cubin" in out
    assert "compute_capability=8.0 " in out and "grid 1x1x1 block 32x1x1\n" in out
    status, _, err = run(capsys, "inspect", "x.kgen", "--source", "sm_90a")
    assert status == 2 and "kernel=sm_90a is not in the bundle; it has sm_80/matmul" in err


@pytest.mark.integration
def test_a_shape_that_memory_cannot_hold(capsys: pytest.CaptureFixture[str]) -> None:
    argv = build(shape="65536x65536x1", batch="65535", target="x86-64-v3", output="x.kgen")
    assert run(capsys, *argv)[0] == 0
    for command, doing in (("verify", "verifying"), ("bench", "timing")):
        status, _, err = run(capsys, command, "x.kgen")
        assert status == 2 and f"{doing} it needs" in err and "use a smaller shape" in err
    assert run(capsys, "verify", "x.kgen", "--seed=-1")[0] == 2


def test_a_missing_python_package_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_without(_: object) -> int:
        raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite.binding")

    monkeypatch.setattr("kgen.cli.commands.build.run", run_without)
    status, _, err = run(capsys, *BUILD)
    assert status == 2 and err == (
        "kgen build: the Python package llvmlite is missing; pip install llvmlite\n"
    )


@pytest.mark.integration
def test_bench_is_silent_about_targets_of_other_machines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = build(op="relu", shape="100", target="sm_80,native", output="x.kgen")
    assert run(capsys, *argv)[0] == 0
    status, out, _ = run(capsys, "bench", "x.kgen", "--rounds", "1")
    assert status == 0 and "relu_100_f16  native" in out and "sm_80" not in out


@pytest.mark.integration
def test_two_builds_are_identical(tmp_path: Path) -> None:
    """Processes with different hash seeds build the same bytes, for every family."""
    kernels = ("matmul 16x24x32 f16 +bias+gelu", "softmax 4x131072 f16")
    argv = ["build", *kernels, "--target", "sm_80,gfx942,vulkan1.3,x86-64-v3"]
    for name in ("1", "4"):
        command = [sys.executable, "-m", "kgen", *argv, "-o", name]
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONHASHSEED": name},
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "4").read_bytes()


@pytest.mark.integration
def test_a_changed_artifact_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, *BUILD, "-o", "x.kgen")[0] == 0
    path = tmp_path / "x.kgen"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"mma.sync", b"mma.sinc"))
    status, _, err = run(capsys, "inspect", "x.kgen", "--source", "sm_80")
    assert status == 2 and err.count("\n") == 1


@pytest.mark.integration
def test_check_reads_the_code_that_would_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, *BUILD, "-o", "x.kgen")[0] == 0
    path = tmp_path / "x.kgen"
    path.write_bytes(path.read_bytes().replace(b"mma.sync", b"mma.sinc"))
    assert run(capsys, "check", "x.kgen", "--arch", "sm_80")[0] == 0, "of the cubin, which is whole"
    status, _, err = run(capsys, "check", "x.kgen", "--arch", "sm_90a")
    damage = "x.kgen: sm_80/matmul_16x16x16_f16_nn.ptx has sha256 "
    assert status == 2 and damage in err
    for options in ([], ["--json"]):
        status, out, err = run(capsys, "inspect", "x.kgen", *options)
        assert status == 2 and damage in err and "matmul_16x16x16_f16_nn" in out


@pytest.mark.integration
@pytest.mark.parametrize("count", ["0", "-1", "1000000"])
@pytest.mark.parametrize("command", ["bench", "run", "profile", "report"])
def test_threads_are_bounded(
    command: str, count: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The limit is checked before anything is loaded."""
    kgen.build(relu_of((9,)), "native").save("x.kgen")
    status, out, err = run(capsys, command, "x.kgen", "--threads", count)
    why = "is out of range; give 1 to 1024, or leave it out to use all cores"
    assert (status, out, err) == (2, "", f"kgen {command}: --threads {count} {why}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.kgen"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("argv", "keys", "name"),
    [
        (["matmul 8x8x8 f16 +bias"], ["matmul_8x8x8_f16_nn_bias"], "matmul_8x8x8_f16_nn_bias"),
        (["relu 9 f32", "log_softmax 3x4 bf16"], ["relu_9_f32", "log_softmax_3x4_bf16"], "kernels"),
        (["--shape=4", "--shape", "2x3", "--op=relu"], ["relu_4_f16", "relu_2x3_f16"], "kernels"),
        (
            ["relu 9 f32", "--dtype=f32", "--shape=4x4x4", "relu 8 f32", "--epilogue=relu"],
            ["relu_9_f32", "relu_8_f32", "matmul_4x4x4_f32_nn_relu"],
            "kernels",
        ),
    ],
)
def test_kernels_by_their_text_and_by_options(
    argv: list[str],
    keys: list[str],
    name: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A bundle may have any number of each; arguments may stand between options."""
    status, out, err = run(capsys, "build", "--target=vulkan1.3", *argv, "--json")
    assert status == 0, err
    built = json.loads(out)
    assert [kernel["kernel"] for kernel in built["kernels"]] == keys
    assert built["bundle"] == f"{name}.kgen" and (tmp_path / f"{name}.kgen").is_file()


@pytest.mark.integration
def test_the_values_of_a_kernel_that_is_given_by_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.save("b.npy", np.ones((16, 16), np.float32))
    argv = ["matmul 16x16x16 f32 constant=b", "--constant=b=b.npy", "--target=x86-64-v3"]
    assert run(capsys, "build", *argv, "-o", "x.kgen")[0] == 0
    status, out, _ = run(capsys, "inspect", "x.kgen")
    assert status == 0 and re.search(r"stored  b +1024 bytes", out)


@pytest.mark.integration
def test_lists_have_commas_or_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    argv = build(target="sm_80 vulkan1.3", epilogue="bias , relu")
    status, out, _ = run(capsys, *argv, "--json")
    found = [(kernel["target"], kernel["kernel"]) for kernel in json.loads(out)["kernels"]]
    key = "matmul_16x16x16_f16_nn_bias_relu"
    assert status == 0 and found == [("sm_80", key), ("vulkan1.3", key)]


@pytest.mark.integration
def test_negative_alpha_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *BUILD, "--alpha", "-1e-3")[0] == 0


@pytest.mark.integration
def test_the_package_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kgen", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0 and re.fullmatch(r"kgen \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.integration
def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m kgen.cli.main targets | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.integration
def test_names_that_the_output_cannot_encode_are_escaped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kgen", *build(output="\xf6\udcff.kgen")]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"wrote \xf6\udcff.kgen (" in done.stdout


@pytest.mark.integration
def test_a_full_disk_under_stdout_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "kgen", "devices"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "kgen devices: No space left on device\n")


@pytest.mark.integration
@pytest.mark.parametrize("words", ["--help", "--version", "build --help", "perf check --help", ""])
def test_help_that_a_full_disk_loses_is_one_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "kgen", *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "kgen: No space left on device\n")


@pytest.mark.integration
@pytest.mark.parametrize("words", ["verify nope", "verify", "build --nope", "devices >/dev/full"])
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&1 | true"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_refusal_that_nobody_hears_is_one(words: str, stderr: str, unbuffered: str) -> None:
    """Stderr may be buffered (PYTHONUNBUFFERED), and closed."""
    command = f"set -o pipefail; {sys.executable} -m kgen {words} {stderr}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.integration
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_before_a_refusal_that_a_full_disk_loses(unbuffered: str) -> None:
    """Text that is left in stdout after a refused command does not change the exit status."""
    program = (
        "import sys; from kgen.cli import main as cli; from kgen.errors import SpecError\n"
        "def refused(parsed):\n"
        "    print('half of a table')\n"
        "    raise SpecError('no')\n"
        "import kgen.cli.commands.devices as devices; devices.run = refused\n"
        "sys.argv[1:] = ['devices']; sys.exit(cli.main())"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.integration
def test_no_room_for_temporary_files_is_one_line(tmp_path: Path) -> None:
    """ptxas reads a file, which is larger than the limit on files here."""
    command = f"ulimit -f 1; exec {sys.executable} -m kgen {' '.join(build(output='x.kgen'))}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "a temporary file for ptxas cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.integration
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_lead_nowhere(closed: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m kgen {' '.join(build(output='x.kgen'))} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["x.kgen"]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0
    for name in ("build", "inspect", "verify", "bench", "check", "emulate", "devices", "targets"):
        assert name in out
    assert "exit status: 0 done; 1 a check failed" in out and "130 interrupted by Ctrl-C" in out
    status, out, _ = run(capsys, "emulate", "--help")
    assert status == 0 and "Run any PTX or AMDGPU kernel text on the CPU" in out


@pytest.mark.integration
def test_a_constant_brings_two_kernels(
    capsys: pytest.CaptureFixture[str], in_empty_folder: Path
) -> None:
    b = np.ones((16, 16), np.float32)
    b[3, 5], b[4, 6] = np.nan, -np.inf
    np.save("b.npy", b)
    command = build(target="x86-64-v3", dtype="f32", constant="b=b.npy", output="x.kgen")
    remark = "constant b: 2 of 256 elements are NaN or infinite"
    status, out, _ = run(capsys, *command)
    assert status == 0 and f"{remark}\nwrote x.kgen" in out
    assert json.loads(run(capsys, *command, "--json")[1])["remarks"] == [remark]
    status, out, _ = run(capsys, "inspect", "x.kgen")
    assert status == 0 and "x86-64-v3/matmul_16x16x16_f32_nn\n" in out
    assert "packed  b         of 16x16 in panels of 8 columns, 1 k interleaved" in out
    assert re.search(r"stored  b +1024 bytes  constants/[0-9a-f]{16}\.bin", out)
    assert run(capsys, "verify", "x.kgen")[0] == 0

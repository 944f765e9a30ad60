"""Entry point of the `kgen` command; each sub-command is a module that is imported on use."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import TextIO

from kgen import __version__
from kgen.cli.parser import EXIT_REFUSED, Parser
from kgen.errors import KgenError
from kgen_runtime.errors import shortened

#: Sub-commands in the order of the help, with the line that describes each.
COMMANDS: tuple[tuple[str, str], ...] = (
    ("build", "build kernels for fixed shapes into one bundle"),
    ("compile", "compile a whole model, an ONNX file, into one bundle"),
    ("inspect", "show what is inside a bundle: kernels, source, machine code"),
    ("run", "run a bundle's program on arrays from files"),
    ("profile", "time each step of a bundle's program"),
    ("report", "write a page about a bundle's program: graph, times, rooflines, memory, checks"),
    ("verify", "execute every kernel of a bundle and compare it with a scalar reference"),
    ("bench", "time the kernels of a bundle side by side with libraries"),
    ("tune", "measure schedules on this machine, and record the fastest for later builds"),
    ("bundle", "merge bundles into one"),
    ("check", "say whether a bundle runs on a device or target"),
    ("perf", "performance gate: check kernels against budgets, compare bundles"),
    ("emulate", "run any PTX or AMDGPU kernel text on the CPU, with checks"),
    ("cache", "show, limit or clear the cache of built kernels"),
    ("devices", "list the devices and drivers of this machine"),
    ("targets", "list targets and what each one supports"),
    ("completion", "print a script that makes a shell complete kgen's command lines"),
)

#: Allocations between two garbage collections. Python's default of some hundreds would scan all
#: imported objects many times.
OBJECTS_BETWEEN_COLLECTIONS = 100_000
EXIT_DONE, EXIT_INTERRUPTED = 0, 130
#: Exit statuses of all commands. A command with status 1 explains it in `FAILED`.
EXIT_STATUSES = {
    EXIT_DONE: "done",
    1: "a check failed (a wrong kernel, an exceeded budget, a bundle that does not run there)",
    EXIT_REFUSED: "the request cannot be met (one line on stderr says why and what to do)",
    EXIT_INTERRUPTED: "interrupted by Ctrl-C",
}
EXIT_CODES = "exit status: " + "; ".join(f"{n} {text}" for n, text in EXIT_STATUSES.items())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 done, 1 a check failed, 2 request refused, 130 interrupted.

    Without `argv` it runs the process's own command. Python then collects garbage rarely, and not
    at exit, which saves time in a build (docs/performance.md).
    """
    if argv is not None:
        return _main(list(argv))
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    _open_streams()
    try:
        return _main(sys.argv[1:])
    finally:
        _settle(sys.stdout)
        _settle(sys.stderr)
        gc.freeze()


def _main(arguments: list[str]) -> int:
    try:
        top = parser(arguments)
        try:
            parsed = top.parse_args(arguments)
            if parsed.command is None:
                top.print_help()
                return EXIT_REFUSED
        except OSError as error:
            return _unwritten("kgen", error)
        return _run(parsed)
    except KeyboardInterrupt:
        from kgen.cli.output import end_progress

        end_progress()
        return EXIT_INTERRUPTED


def parser(configured: Collection[str]) -> Parser:
    """Return the parser of `kgen`; only the commands in `configured` get their arguments."""
    top = Parser(
        prog="kgen",
        description="Compile ONNX models, and build and verify fixed-shape kernels, for NVIDIA, "
        "AMD, Vulkan, Metal and CPU targets, without a GPU.",
        epilog=EXIT_CODES,
    )
    top.add_argument("--version", action="version", version=f"kgen {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, line in COMMANDS:
        command = commands.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        if name in configured:
            import_module(f"kgen.cli.commands.{name}").configure(command)
        command.add_argument("--json", action="store_true", help="print one JSON object")
    return top


def _run(parsed: argparse.Namespace) -> int:
    below = getattr(parsed, f"{parsed.command}_command", None)
    command = " ".join(filter(None, ("kgen", parsed.command, below)))
    try:
        status = import_module(f"kgen.cli.commands.{parsed.command}").run(parsed)
        sys.stdout.flush()
    except KgenError as error:
        return _refused(command, one_line(str(error)))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("kgen"):
            raise
        package = error.name.partition(".")[0]
        return _refused(command, f"the Python package {package} is missing; pip install {package}")
    except OSError as error:
        return _unwritten(command, error)
    assert isinstance(status, int)
    return status


def _refused(command: str, why: str) -> int:
    """Print the reason to stderr, in place of a progress line."""
    from kgen.cli.output import end_progress

    try:
        end_progress()
        print(f"{command}: {why}", file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)
    return EXIT_REFUSED


def _unwritten(command: str, error: OSError) -> int:
    """Report an output error that no other code reports, such as a full disk under stdout."""
    _drop(sys.stdout)
    if isinstance(error, BrokenPipeError):
        # The reader closed the pipe (`kgen inspect ... | head`), which is not an error.
        return EXIT_DONE
    place = "" if error.filename is None else f"{error.filename}: "
    return _refused(command, f"{place}{error.strerror or error}")


def one_line(message: str) -> str:
    """Return a message as one printable line: names in it may come from an untrusted file."""
    line = " ".join(shortened(message).split())
    return shortened("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))


def _open_streams() -> None:
    """Open streams that the process was started without (`kgen ... >&-`) on the null device.

    They are opened in the order of their numbers, so that no other file takes one of these. The
    output shows characters that its encoding lacks, as in names of files, as escapes.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - until the end
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _settle(stream: TextIO) -> None:
    """Flush a stream, and drop one that cannot be written.

    Python would flush it again at exit and end with status 120.
    """
    try:
        stream.flush()
    except OSError:
        _drop(stream)


def _drop(stream: TextIO) -> None:
    """Redirect a stream to the null device, because Python flushes it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())

"""Emulator of textual LLVM IR: AMDGPU kernels, and scalar or vector functions of a CPU.

- Front end: :mod:`lexer`, :mod:`constants`, :mod:`instructions` and :mod:`parser` produce a
  :mod:`module`. :mod:`decode` turns its functions into a :mod:`program` of closures, with the
  semantics in :mod:`ops` and :mod:`intrinsics`.
- Execution: :mod:`launch` runs a chunk of workgroups at a time. :mod:`flow` runs it in lockstep, on
  the state in :mod:`machine` and :mod:`memory`, with the checks of :mod:`order`.

A new instruction is an entry in a table of :mod:`ops`, a new intrinsic an entry in
:mod:`intrinsics`: a function from the parsed instruction to a function of the operands' values.
"""

from kgen.emulate.llvm.exec.launch import run
from kgen.emulate.llvm.frontend.parser import parse

__all__ = ["parse", "run"]

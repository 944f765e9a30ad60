"""Machine code of CPU kernels, mapped by the runtime itself: one mapping for a whole bundle.

A kernel is a shared object that imports nothing, has no relocation and keeps no state, so that
mapping it loads it (docs/reference/bundle-format.md). The dynamic loader would make five mappings
of each and need a file that stays open. An object that asks more of a loader is refused, and so is
one whose headers do not fit its bytes.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
import weakref
from collections.abc import Hashable, Iterator, Mapping
from functools import cache

from kgen_runtime.errors import DeviceError
from kgen_runtime.values import frozen

#: memfd_create(2): bytes of a name, which is cut there.
MEMFD_NAME = 249
#: Objects start at multiples of this many bytes: no code refers to a finer part of its address.
PAGE = 4096
#: Bytes by which an object's addresses may run ahead of its size: its parts lie on pages of their
#: own, of 64 KiB.
GAPS = 0x40000

# ELF (System V ABI, gABI 4.1, 64-bit): the records and numbers that are used here.
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<QQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENT = b"\x7fELF\x02\x01\x01"
_ET_DYN = 3
_MACHINES = {62: "x86_64", 183: "aarch64"}
_PT_LOAD, _PT_DYNAMIC = 1, 2
_PF_X, _PF_W = 1, 2
_DT_NULL, _DT_HASH, _DT_STRTAB, _DT_SYMTAB = 0, 4, 5, 6
#: Those, and the sizes of the string table and of a symbol: nothing that asks for work.
_DT_KNOWN = {_DT_HASH, _DT_STRTAB, _DT_SYMTAB, 10, 11}


@frozen
class SharedObject:
    """What is mapped of a shared object: its read-only parts by address, and its functions."""

    parts: tuple[tuple[int, bytes], ...]
    functions: Mapping[str, int]

    @property
    def size(self) -> int:
        """Bytes of address space."""
        return max(at + len(part) for at, part in self.parts)


class Library:
    """Shared objects in memory, readable and executable, until the last reference is gone.

    Nothing is left in the file system, and no file stays open. `name` is the mapping's, which
    profilers show.
    """

    def __init__(self, objects: Mapping[Hashable, bytes], name: str) -> None:
        """Raises DeviceError for an object that cannot be mapped here."""
        self._name = name
        self._objects: dict[Hashable, tuple[int, SharedObject]] = {}
        size = 0
        for key, data in objects.items():
            found = _parse(data, name)
            self._objects[key] = (size, found)
            size += -(-found.size // PAGE) * PAGE
        self._address = self._map(size)

    def function(self, key: Hashable, entry_point: str) -> int:
        """The address of a function of an object. Raises DeviceError if there is none."""
        base, found = self._objects[key]
        if entry_point not in found.functions:
            raise DeviceError(f"{self._name}: its code has no function {entry_point}")
        return self._address + base + found.functions[entry_point]

    def _map(self, size: int) -> int:
        try:
            name = self._name.encode()[:MEMFD_NAME].decode(errors="ignore")
            file = os.memfd_create(name, os.MFD_CLOEXEC)
            try:
                os.ftruncate(file, size)
                for base, found in self._objects.values():
                    for at, part in found.parts:
                        os.pwrite(file, part, base + at)
                address = _mapped(file, size)
            finally:
                os.close(file)
        except OSError as error:
            raise DeviceError(
                f"{self._name}: the code cannot be mapped: {error.strerror}; allow this process "
                "more memory, and executable mappings"
            ) from None
        # Python's threads may be in the code until the process is gone.
        weakref.finalize(self, _libc().munmap, address, size).atexit = False
        return address


def _mapped(file: int, size: int) -> int:
    """Python's own mmap would keep the file open as long as the mapping."""
    rights = mmap.PROT_READ | mmap.PROT_EXEC
    address = _libc().mmap(None, size, rights, mmap.MAP_PRIVATE, file, 0)
    if address == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(address)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_size_t
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, size, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, size]
    return libc


_FAILED = ctypes.c_void_p(-1).value


def _parse(data: bytes, name: str) -> SharedObject:
    try:
        return _shared_object(data)
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        reason = str(error) if isinstance(error, _UnsupportedObject) else "its headers are damaged"
        raise DeviceError(f"{name}: its code cannot be mapped: {reason}; build it again") from None


class _UnsupportedObject(ValueError):
    """Reason for not mapping a shared object."""


def _shared_object(data: bytes) -> SharedObject:
    """Raises ValueError, IndexError or struct.error for what is none, or not one of ours."""
    ident, kind, machine, _, _, table, *_, entry_size, count, _, _, _ = _HEADER.unpack_from(data)
    if not ident.startswith(_IDENT) or kind != _ET_DYN or entry_size != _SEGMENT.size:
        raise _UnsupportedObject("it is not a shared object")
    if _MACHINES.get(machine) != platform.machine():
        raise _UnsupportedObject(f"it is not for {platform.machine()}")
    parts, code, dynamic = [], [], {}
    for i in range(count):
        segment = _SEGMENT.unpack_from(data, table + i * _SEGMENT.size)
        kind, flags, offset, address, _, size, in_memory, _ = segment
        content = data[offset : offset + size]
        if len(content) != size:
            raise _UnsupportedObject("it is truncated")
        if kind == _PT_DYNAMIC:
            dynamic = dict(_entries(content))
        # The writable part is the dynamic loader's.
        if kind != _PT_LOAD or flags & _PF_W:
            continue
        if in_memory != size or address + size > len(data) + GAPS:
            raise _UnsupportedObject("a segment is larger in memory than in the file")
        parts.append((address, content))
        if flags & _PF_X:
            code.append(range(address, address + size))
    if unknown := sorted(dynamic.keys() - _DT_KNOWN):
        raise _UnsupportedObject(f"it needs a dynamic loader (dynamic tag {unknown[0]})")
    functions = {
        symbol: value
        for symbol, value in _symbols(parts, dynamic)
        if any(value in addresses for addresses in code)
    }
    return SharedObject(parts=tuple(parts), functions=functions)


def _entries(dynamic: bytes) -> Iterator[tuple[int, int]]:
    for tag, value in _DYNAMIC.iter_unpack(dynamic):
        if tag == _DT_NULL:
            return
        yield tag, value


def _symbols(
    parts: list[tuple[int, bytes]], dynamic: Mapping[int, int]
) -> Iterator[tuple[str, int]]:
    """Names and addresses of what the object exports."""
    if not dynamic.keys() >= {_DT_HASH, _DT_STRTAB, _DT_SYMTAB}:
        raise _UnsupportedObject("it exports no functions")
    table, strings = _at(parts, dynamic[_DT_SYMTAB]), _at(parts, dynamic[_DT_STRTAB])
    _, count = struct.unpack_from("<II", _at(parts, dynamic[_DT_HASH]))
    for i in range(1, count):
        name, _, _, _, value, _ = _SYMBOL.unpack_from(table, i * _SYMBOL.size)
        yield strings[name : strings.index(b"\0", name)].decode(), value


def _at(parts: list[tuple[int, bytes]], address: int) -> bytes:
    """The rest of a part from an address on."""
    for start, content in parts:
        if start <= address < start + len(content):
            return content[address - start :]
    raise _UnsupportedObject("its tables lie outside of the file")

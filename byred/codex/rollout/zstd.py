"""Decompressing rollouts: codex compresses old ones with zstd.

Python has no zstd before 3.14. The program of that name does the work, or where it is not
installed the library, which nearly every system has for its own packages.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from byred.codex.rollout.errors import RolloutError

END = 30.0
"""Seconds for the program to end once its output is read; it has nothing left to do then."""
READ_AHEAD = 1024 * 1024
LIBRARY = "libzstd.so.1"


@contextlib.contextmanager
def decompressed(path: Path) -> Iterator[IO[bytes]]:
    """Give the bytes of a compressed file, as they are decompressed.

    Raises RolloutError when there is nothing to do it with, and at the end when the file was cut
    short or is no zstd.
    """
    program = shutil.which("zstd")
    if program is not None:
        with _by_program(program, path) as stream:
            yield stream
        return
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        raise RolloutError(
            f"cannot read {path}: it is compressed; install the program zstd, or {LIBRARY}"
        ) from None
    with _Decompressing(library, path) as raw:
        # A buffer in front of it reads in blocks and gives lines.
        yield cast("IO[bytes]", io.BufferedReader(raw, READ_AHEAD))


@contextlib.contextmanager
def _by_program(program: str, path: Path) -> Iterator[IO[bytes]]:
    process = subprocess.Popen(
        [program, "--decompress", "--stdout", "--quiet", "--", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=READ_AHEAD,
    )
    try:
        # Its complaints are a line or two: they fit into the pipe while its output is read.
        with process.stdout as out, process.stderr as complaints:  # type: ignore[union-attr] # asked for
            yield out
            if out.read(1):
                return  # the reader wanted no more
            said = complaints.read().decode(errors="replace").strip()
        if process.wait(END) != 0:
            raise RolloutError(f"cannot read all of {path}: {said}")
    finally:
        process.kill()
        process.wait(END)


class _Buffer(ctypes.Structure):
    """What zstd.h calls ZSTD_inBuffer and ZSTD_outBuffer."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("at", ctypes.c_size_t),
    )


class _Decompressing(io.RawIOBase):
    """A compressed file as a stream of its bytes, by the library's streaming interface."""

    def __init__(self, library: Any, path: Path) -> None:
        library.ZSTD_createDStream.restype = ctypes.c_void_p
        library.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
        library.ZSTD_decompressStream.restype = ctypes.c_size_t
        pointer = ctypes.POINTER(_Buffer)
        library.ZSTD_decompressStream.argtypes = [ctypes.c_void_p, pointer, pointer]
        library.ZSTD_isError.argtypes = [ctypes.c_size_t]
        library.ZSTD_getErrorName.argtypes = [ctypes.c_size_t]
        library.ZSTD_getErrorName.restype = ctypes.c_char_p
        self._library, self._path = library, path
        self._file = path.open("rb")
        self._state = library.ZSTD_createDStream()
        self._block = b""
        self._given = _Buffer()
        self._unfinished = True

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of a buffer; 0 at the end. Raises RolloutError for what is no whole zstd."""
        view = memoryview(buffer).cast("B")
        place = (ctypes.c_char * len(view)).from_buffer(view)
        taken = _Buffer(ctypes.addressof(place), len(view), 0)
        while not taken.at:
            more = self._given.at < self._given.size or self._refill()
            left = self._library.ZSTD_decompressStream(
                self._state, ctypes.byref(taken), ctypes.byref(self._given)
            )
            if self._library.ZSTD_isError(left):
                why = self._library.ZSTD_getErrorName(left).decode()
                raise RolloutError(f"cannot read all of {self._path}: {why}")
            if not more and not taken.at:
                if self._unfinished:
                    raise RolloutError(f"cannot read all of {self._path}: it ends too early")
                return 0
            self._unfinished = left > 0
        return int(taken.at)

    def close(self) -> None:
        """Let go of the file and of the library's state."""
        if not self.closed:
            self._library.ZSTD_freeDStream(self._state)
            self._file.close()
        super().close()

    def _refill(self) -> bool:
        self._block = self._file.read(READ_AHEAD)
        address = ctypes.cast(ctypes.c_char_p(self._block), ctypes.c_void_p)
        self._given = _Buffer(address, len(self._block), 0)
        return bool(self._block)

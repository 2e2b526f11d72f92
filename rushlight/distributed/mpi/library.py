"""The MPI library: its C functions by address, and the handles (types, operations, communicators) that mpi4py names.

mpi4py knows what differs between MPI libraries: handles are numbers in MPICH and addresses in Open MPI. Its module is
linked to the library, so that the library's functions are found through it. They are called by ctypes, which lets other
threads run meanwhile; importing mpi4py by itself would call MPI_Init with the interpreter's lock held.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from typing import Any

import numpy as np

from ...core.foreign import ctypes
from ..errors import DistBackendError
from ..reduce_op import RedOpType

__all__ = ["Library", "installed", "library", "why_not"]

THREAD_MULTIPLE = 3
STATUS_BYTES = 256  # more than any library's MPI_Status
# UCX, which moves MPICH's bytes, over TCP: what it puts into the other process's memory goes one way at a time (all_reduce of
# 32 MB over 200 Mbit/s 2.22 s, without 1.47), and it sends 8 KB a call (32 MB over 1 Gbit/s 430 ms, with 64 KB 308).
_FOR_UCX = {"UCX_TCP_PUT_ENABLE": "n", "UCX_TCP_TX_SEG_SIZE": "64K"}
_RECEIVES = "UCX_TCP_RX_SEG_SIZE"  # 64 KB, where it is not set: UCX refuses to send more at once than that

# The arguments of the C functions: p buffer, n count, t type, o operation, i number (a rank, a tag), c communicator, N counts,
# D distances, h the operation's request (which it returns)
_FUNCTIONS = {
    "Ibcast": "pntich",
    "Iallgather": "pntpntch",
    "Iallgatherv": "pntpNDtch",
    "Igather": "pntpntich",
    "Iscatter": "pntpntich",
    "Ialltoall": "pntpntch",
    "Ialltoallv": "pNDtpNDtch",
    "Iallreduce": "ppntoch",
    "Ireduce": "ppntoich",
    "Ireduce_scatter": "ppNtoch",
    "Ibarrier": "ch",
    "Isend": "pntiich",
    "Irecv": "pntiich",
}
_TYPES = {
    "int8": "INT8_T", "int16": "INT16_T", "int32": "INT32_T", "int64": "INT64_T",
    "uint8": "UINT8_T", "uint16": "UINT16_T", "uint32": "UINT32_T", "uint64": "UINT64_T",
    "float32": "FLOAT", "float64": "DOUBLE", "complex64": "C_FLOAT_COMPLEX", "complex128": "C_DOUBLE_COMPLEX",
}  # fmt: skip
_OPERATIONS = {
    RedOpType.SUM: "SUM",
    RedOpType.PRODUCT: "PROD",
    RedOpType.MIN: "MIN",
    RedOpType.MAX: "MAX",
    RedOpType.BAND: "BAND",
    RedOpType.BOR: "BOR",
    RedOpType.BXOR: "BXOR",
}


class Library:
    """The functions and handles of the MPI library that mpi4py finds. Raises what its import raises."""

    def __init__(self) -> None:
        if "mpi4py.MPI" not in sys.modules:  # else the program has started MPI itself
            import mpi4py  # pyright: ignore[reportMissingImports]

            mpi4py.rc.initialize = False
            mpi4py.rc.finalize = False
        from mpi4py import MPI  # pyright: ignore[reportMissingImports]

        self.mpi: Any = MPI
        self.c = ctypes.CDLL(MPI.__file__)
        self.Handle = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p
        self.version = MPI.Get_library_version().partition("\n")[0].rstrip("\0").strip()
        self.in_place = int(MPI.IN_PLACE)
        self.large = hasattr(self.c, "MPI_Iallreduce_c")  # counts of 64 bits, MPI 4
        self.polls_requests = hasattr(self.c, "MPIX_Grequest_start")
        self.Count = ctypes.c_int64 if self.large else ctypes.c_int
        self.Distance = ctypes.c_ssize_t if self.large else ctypes.c_int
        self.byte, self.no_request = self.handle(MPI.BYTE), self.handle(MPI.REQUEST_NULL)
        self.types = {name: self.handle(getattr(MPI, mpi)) for name, mpi in _TYPES.items()}
        self.operations = {op: self.handle(getattr(MPI, name)) for op, name in _OPERATIONS.items()}
        self._reductions: dict[Any, tuple[int, int] | None] = {}
        self.functions = {name: self._function(name, letters) for name, letters in _FUNCTIONS.items()}
        self.wait_any = self._declared("MPI_Waitany", ctypes.c_int, *[ctypes.c_void_p] * 3)
        self.test_any = self._declared("MPI_Testany", ctypes.c_int, *[ctypes.c_void_p] * 4)

    def handle(self, thing: Any) -> int:
        """The C handle of one of mpi4py's objects."""
        return self.mpi._handleof(thing)

    def _function(self, name: str, letters: str) -> Any:
        kinds = {
            "p": ctypes.c_void_p, "n": self.Count, "i": ctypes.c_int, "t": self.Handle, "o": self.Handle, "c": self.Handle,
            "N": ctypes.c_void_p, "D": ctypes.c_void_p, "h": ctypes.c_void_p,
        }  # fmt: skip
        suffix = "_c" if self.large and set(letters) & set("nN") else ""
        return self._declared(f"MPI_{name}{suffix}", *[kinds[letter] for letter in letters])

    def _declared(self, name: str, *kinds: Any) -> Any:
        function = getattr(self.c, name)
        function.argtypes = kinds
        return function

    def reduction(self, dtype: np.dtype, op: RedOpType) -> tuple[int, int] | None:
        """MPI's type and operation, where it gives the same bits in all processes; else None."""
        known = self._reductions.get((dtype.num, op), 0)
        if known == 0:
            kind = self.types.get(dtype.name)
            ordered = op in (RedOpType.MIN, RedOpType.MAX) and dtype.kind not in "iu"  # NaN: the order would matter
            operation = self.operations[RedOpType.SUM if op is RedOpType.AVG else op]
            known = self._reductions[dtype.num, op] = None if kind is None or ordered else (kind, operation)
        return known  # type: ignore[return-value]

    def check(self, status: int, what: str) -> None:
        """Raise DistBackendError with the library's text where a function did not return MPI_SUCCESS."""
        if status:
            raise DistBackendError(f"{what}: {self.mpi.Get_error_string(status)} ({self.version})")

    def start(self) -> None:
        """MPI_Init_thread. Raises DistBackendError where it fails."""
        provided = ctypes.c_int()
        own = {name: value for name, value in _FOR_UCX.items() if name not in os.environ}
        if _RECEIVES in os.environ:
            own.pop("UCX_TCP_TX_SEG_SIZE", None)
        os.environ.update(own)
        try:
            self.check(self.c.MPI_Init_thread(None, None, THREAD_MULTIPLE, ctypes.byref(provided)), "MPI_Init_thread")
        finally:
            for name in own:  # not for this process's children
                del os.environ[name]
        self.mpi.COMM_WORLD.Set_errhandler(self.mpi.ERRORS_RETURN)

    @property
    def starts_anywhere(self) -> bool:
        """Whether MPI_Init works in a process that was not started by the library's own launcher."""
        return self.version.startswith(("MPICH", "Intel"))


@cache
def _loaded() -> tuple[Library | None, str]:
    if os.environ.get("RUSHLIGHT_MPI") == "0":
        return None, "RUSHLIGHT_MPI=0 switches it off"
    if importlib.util.find_spec("mpi4py") is None:
        return None, "mpi4py is not installed"
    try:
        return Library(), ""
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        return None, f"mpi4py does not load: {str(error).strip() or type(error).__name__}"


def library() -> Library | None:
    """The MPI library, or None where there is none."""
    return _loaded()[0]


def why_not() -> str:
    """Why there is no library."""
    return _loaded()[1]


def installed() -> bool:
    """Whether data between processes can go by MPI."""
    return library() is not None

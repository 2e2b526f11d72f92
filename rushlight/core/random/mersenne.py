"""The generator: torch's Mersenne twister (MT19937), its seeding and its 5056-byte state.

The words come from NumPy's own MT19937, which runs the same recurrence and the same seeding. NumPy's random package
takes about 25 ms to import, so a generator holds only its seed until the first draw.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, SupportsInt

import numpy as np

from ..device import devices
from ..device.devices import CPU, backend, check, device
from ..dispatch.extension_points import random_blocks
from ..dispatch.mode import emit_event, thread
from ..foreign import HAS_CTYPES, ctypes
from ..locks import lock, open_in_child
from ..tensor.tensor import Tensor, wrap

if TYPE_CHECKING:
    from ..device.backend import Backend

DEFAULT_SEED = 67280421310721
WORDS = 624
STATE_BYTES = 5056

# torch's struct, with C's padding. `normal_y` caches the second value of the last scalar Box-Muller pair.
_STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "key", "normal_y", "normal_is_valid", "float_y", "float_is_valid"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", WORDS), "<f8", "<i4", "<f4", "?"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)


_NO_WORDS = np.empty(0, np.uint32)


def blocks_by_numpy(stream: Any, blocks: int) -> np.ndarray:
    """The next blocks of words of a `RandomState` whose position is a block's end."""
    return stream.randint(0, 1 << 32, blocks * WORDS, np.uint32)


class _Same:
    """An object that equals itself only; holding it keeps its place in memory from being used again."""

    __slots__ = ("what",)

    def __init__(self, what: object):
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.what is other.what

    __hash__ = object.__hash__


def _tell_of_change() -> None:
    """A recorder of calls cannot repeat that a stream is restarted; it hears of it before."""
    if thread.state.level > 1:
        emit_event("reseeded")


class Generator:
    """A stream of random numbers, as `torch.Generator` on the CPU.

    Args:
        device: the CPU, or a device with random numbers of its own. Raises RuntimeError for another one.

    Every draw holds `lock`, so that threads may share a generator. A forked child continues from its parent's state.
    """

    __slots__ = (
        "__weakref__",
        "device",
        "_at",
        "_block",
        "_float_normal",
        "_normal",
        "_seed",
        "_stream",
        "_unused",
        "ahead",
        "lock",
        "units_ahead",
    )

    def __init__(self, device: Any = "cpu"):
        self.device = CPU if device == "cpu" else _checked(device)
        self.lock = lock()
        self._stream: Any = None  # NumPy's twister, always at the end of the block of words in `_block`
        self._block = _NO_WORDS
        self._at = 0  # how many words of the block are used
        self.ahead: tuple[np.ndarray, dict[int, tuple[int, np.ndarray]]] | None = None  # made of its words (`ahead.py`)
        self.units_ahead: tuple[np.ndarray, np.ndarray] | None = None  # likewise
        self._reseed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from `seed`, an integer in [-2**63, 2**64); a negative one counts as seed + 2**64.

        Returns the generator. Raises RuntimeError for a value that is no integer, ValueError for one out of range.
        """
        if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(  # torch's type
                f"manual_seed expected a long, but got {type(seed).__name__}"
            )
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        _tell_of_change()
        with self.lock:
            self._reseed(seed % (1 << 64))
        return self

    def seed(self) -> int:
        """Restart the stream from a seed of the operating system, and return that seed."""
        fresh = entropy()
        _tell_of_change()
        with self.lock:
            self._reseed(fresh)
        return fresh

    def initial_seed(self) -> int:
        """The seed from which the stream started."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as torch lays it out: a uint8 tensor. Shape: -> (5056,)"""
        return wrap(self.state_bytes())

    def set_state(self, new_state: Any) -> Generator:
        """Continue from a state that `get_state` returned, here or in torch; the generator itself."""
        self.set_state_bytes(getattr(new_state, "_array", new_state))
        return self

    def clone_state(self) -> Generator:
        """A new generator that continues this one's stream independently."""
        twin = Generator(self.device)
        twin.set_state_bytes(self.state_bytes())
        return twin

    def graphsafe_get_state(self):
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state):
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def get_offset(self):
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset):
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self):
        return _restore, (self.state_bytes().tobytes(), str(self.device))

    # The state, in torch's layout

    def state_bytes(self) -> np.ndarray:
        """The state: uint8 (5056,), the bytes that torch's `get_state` holds for the same history."""
        record = np.zeros((), _STATE)
        with self.lock:
            _, key, position, *_ = self._start().get_state(legacy=True)
            position = self._at if self._block.size else position
            record["seed"] = self._seed
            record["left"] = WORDS + 1 - position
            record["seeded"] = 1
            record["next"] = 0 if self._unused else position
            record["key"] = key
            if self._normal is not None:
                record["normal_is_valid"], record["normal_y"] = 1, self._normal
            if self._float_normal is not None:
                record["float_is_valid"], record["float_y"] = True, self._float_normal
        state = np.frombuffer(record.tobytes(), np.uint8).copy()
        if thread.state.level > 1:
            emit_event("drew", state, "get_state", Generator.state_bytes, (self,))
        return state

    def position(self) -> tuple:
        """The stream's position: equal to an earlier position, by comparison, where nothing was drawn or set since.

        `state_bytes` says it, too, but starts NumPy's twister and copies its words, which costs fifty times as much.
        """
        with self.lock:
            return _Same(self._block), self._at, self._normal, self._float_normal, self._seed, _Same(self._stream)

    def set_state_bytes(self, state: np.ndarray) -> None:
        """Continue from `state`, uint8 (5056,), made here or by torch.

        Raises TypeError where `state` is no uint8 array, RuntimeError where its size or content is no state.
        """
        if not isinstance(state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                f"{state.size}"
            )
        if thread.state.level > 1:
            emit_event("reseeded", self, state)
        record = np.frombuffer(state.tobytes(), _STATE)[0]
        left, after = int(record["left"]), int(record["next"])
        unused = left == 1 and after == 0
        # torch also takes a state whose two counters disagree, which no generator makes.
        if not record["seeded"] or not 1 <= left <= WORDS or not (unused or left + after == WORDS + 1):
            raise RuntimeError("Invalid mt19937 state")
        key = record["key"].astype(np.uint32)
        with self.lock:
            self._resume(self._start(), ("MT19937", key, WORDS + 1 - left))
            self._seed, self._unused = int(record["seed"]), unused
            self._normal = float(record["normal_y"]) if record["normal_is_valid"] else None
            self._float_normal = float(record["float_y"]) if record["float_is_valid"] else None

    # The words. A caller of these holds the lock, except for the two scalar draws.

    def random32(self) -> int:
        """One word, in [0, 2**32)."""
        with self.lock:
            return int(self.words(1)[0])

    def random64(self) -> int:
        """Two words as one integer in [0, 2**64), the first word the high half."""
        with self.lock:
            high, low = self.words(2).tolist()
            return high << 32 | low

    def words(self, n: int) -> np.ndarray:
        """The next n words: a fresh uint32 (n,).

        Words are made a block (one turn of the twister) at a time and kept, so that a small draw is a slice.
        """
        start, end = self._at, self._at + n
        if end <= self._block.size:
            self._at = end
            self._unused = self._unused and not n
            return self._block[start:end].copy()
        return self._more_words(n)

    def pass_over(self, n: int) -> int | None:
        """Use up the next n words: their place in the block that was made last. None, and no word is used, where they go on."""
        start = self._at
        if start + n > self._block.size:
            return None
        self._at = start + n
        self._unused = self._unused and not n
        return start

    def window(self) -> tuple[np.ndarray, int]:
        """The block of words that was made last, which nothing writes to, and how many of them are used."""
        return self._block, self._at

    def words_left(self) -> int:
        """How many words are left of the block that was made last."""
        return self._block.size - self._at

    def _more_words(self, n: int) -> np.ndarray:
        stream = self._start()
        self._unused = False
        rest = self._block[self._at :]
        blocks = -(-(n - rest.size) // WORDS)
        fresh = (random_blocks.value or blocks_by_numpy)(stream, blocks)
        self._block = fresh[-WORDS:].copy()
        self._at = n - rest.size - (blocks - 1) * WORDS
        if rest.size:
            return np.concatenate([rest, fresh[: n - rest.size]])
        return fresh if n == fresh.size else fresh[:n].copy()

    def remember(self) -> tuple:
        """A bookmark for `rewind`: the position in the words, without the cached normal values."""
        return self._start().get_state(legacy=True), self._block, self._at, self._unused

    def rewind(self, bookmark: tuple, used: int) -> None:
        """Return to a bookmark and pass over the `used` words that were spent after it."""
        state, self._block, self._at, self._unused = bookmark
        self._start().set_state(state)
        self.words(used)

    def snapshot(self) -> tuple:
        """All of the stream, for `restore`, in less than a microsecond: NumPy's own state takes 60."""
        with self.lock:
            words = None if self._stream is None else _words_of(self._stream)
            return words, self._block, self._at, self._unused, self._seed, self._normal, self._float_normal

    def restore(self, snapshot: tuple) -> None:
        """Return to where the stream was."""
        with self.lock:
            words, self._block, self._at, self._unused, self._seed, self._normal, self._float_normal = snapshot
            if words is None:
                self._stream = None
            else:
                _put_words(self._stream, words)

    @property
    def cached_normal(self) -> float | None:
        """The second value of the last scalar Box-Muller pair, where it still waits."""
        return self._normal

    @cached_normal.setter
    def cached_normal(self, value: float | None) -> None:
        self._normal = value

    def _reseed(self, seed: int) -> None:
        self._seed = seed
        self._unused = True
        self._normal: float | None = None
        self._float_normal: float | None = None
        self._block, self._at = _NO_WORDS, 0
        if self._stream is not None:
            self._stream.seed(seed & 0xFFFFFFFF)

    def _start(self) -> Any:
        if self._stream is None:
            from numpy.random import MT19937, RandomState

            bits = MT19937(0)
            stream = RandomState(bits)
            stream.seed(self._seed & 0xFFFFFFFF)
            open_in_child(bits.lock)  # of NumPy, held while it makes words
            self._stream = stream
        return self._stream

    def _resume(self, stream: Any, state: tuple) -> None:
        """Continue in the middle of a block: the rest of its words is made now."""
        stream.set_state(state)
        used = state[2]
        left = stream.randint(0, 1 << 32, WORDS - used, np.uint32)
        self._block, self._at = np.concatenate([np.zeros(used, np.uint32), left]), used


_TWISTER_BYTES = 4 * (WORDS + 1)  # NumPy's record: the words and the position among them


def _words_of(stream: Any) -> Any:
    """All of NumPy's stream, copied from its memory; asked of NumPy where Python has no ctypes."""
    if not HAS_CTYPES:
        return stream.get_state()
    return ctypes.string_at(_address(stream), _TWISTER_BYTES)


def _put_words(stream: Any, words: Any) -> None:
    if not HAS_CTYPES:
        stream.set_state(words)
    else:
        ctypes.memmove(_address(stream), words, _TWISTER_BYTES)


def _address(stream: Any) -> int:
    return stream._bit_generator.ctypes.state_address


def _checked(where: Any) -> device:
    try:
        found = backend(where)
    except AssertionError as absent:  # as other calls that need a GPU raise, but torch's generators do not
        name = device(where).type.upper()
        raise RuntimeError(f"Cannot get {name} generator without ATen_{name.lower()} library. {absent}") from None
    if found is not None and found.generator is None:
        raise RuntimeError(f"{found.device.type.upper()} device type not an accelerator.")
    return check(where)


def _restore(state: bytes, device: str = "cpu") -> Generator:
    generator = Generator(device)
    generator.set_state_bytes(np.frombuffer(state, np.uint8))
    return generator


def entropy() -> int:
    """64 bits of the operating system's entropy."""
    return int.from_bytes(os.urandom(8), "little")


default_generator = Generator()
default_generator._seed = entropy()


class _Current(threading.local):
    generator: Generator | None = None


_current = _Current()


@contextmanager
def drawing_from(generator: Generator | None) -> Iterator[None]:
    """A context in which draws of this thread that name no generator come from this one, as on a device of its own."""
    before, _current.generator = _current.generator, generator
    try:
        yield
    finally:
        _current.generator = before


def resolve(generator: Generator | None) -> Generator:
    """The generator of a draw: the caller's, or the default one for None."""
    if generator is None:
        return _current.generator or default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"expected a Generator or None, but got {type(generator).__name__}")
    return generator


def states(of: Callable[[Backend], bool] = lambda where: True) -> list[tuple[Generator, Tensor]]:
    """Where the streams are: the default one, and those of all devices in use for which `of` is true."""
    others = [w.generator for w in devices.opened() if w.generator is not None and of(w)]
    return [(generator, generator.get_state()) for generator in (default_generator, *others)]


def continue_from(states: list[tuple[Generator, Tensor]]) -> None:
    """Go on where the streams were."""
    for generator, state in states:
        generator.set_state(state)


def manual_seed(seed: SupportsInt) -> Generator:
    """Restart the default generator, and those of all devices, from int(seed). Returns the default one."""
    default_generator.manual_seed(int(seed))
    devices.manual_seed(int(seed))
    return default_generator


def seed() -> int:
    """Restart the default generator, and those of all devices, from a seed of the operating system, and return that seed."""
    seed = default_generator.seed()
    devices.manual_seed(seed)
    return seed


def initial_seed() -> int:
    """The seed from which the default generator's stream started."""
    emit_event("left", "initial_seed(), which may return something else in a later call")
    return default_generator.initial_seed()

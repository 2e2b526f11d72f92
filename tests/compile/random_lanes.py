"""Random maps with short axes, whose windows repeat, skip and turn round along them: what pooling and layouts read."""

from __future__ import annotations

from math import prod

import numpy as np
from random_nests import Generator

from rushlight.compile.ir.graph import Loop, Ref, Value


class Short(Generator):
    """Spaces such as [3, 14, 2, 14, 2], of up to two short axes. Arithmetic that rounds little: it is about memory."""

    functions = ["neg", "abs", "sign", "square", "floor", "round"]

    def space(self) -> tuple[int, ...]:
        out = [int(self.rng.integers(1, 40)) for _ in range(self.rng.integers(1, 4))]
        for _ in range(self.rng.integers(1, 3)):
            out.insert(int(self.rng.integers(len(out) + 1)), int(self.rng.integers(2, 9)))
        while prod(out) > 30_000:
            out[int(np.argmax(out))] //= 2
        return tuple(out)

    def node(self) -> Loop:
        return self.loop(self.space())

    def dtype(self) -> np.dtype:
        return np.dtype(self.pick([np.float32, np.float32, np.float32, np.uint8, np.float64, np.int64, np.float16]))

    def window(self, space: tuple[int, ...], dtype: np.dtype) -> Ref:
        """A value of just the elements between the first and the last that are read."""
        rng, strides, step = self.rng, [0] * len(space), self.pick([1, 1, 1, 1, 2, 3])
        order = np.arange(len(space)) if rng.random() < 0.7 else rng.permutation(len(space))
        for a in reversed(order.tolist()):
            if rng.random() < 0.3:
                continue
            strides[a] = step * self.pick([1, 1, 1, 1, 1, -1])
            step *= space[a] + self.pick([0, 0, 0, 1])
        return self._filled(space, strides, dtype)

    def result(self, space: tuple[int, ...], dtype: np.dtype) -> Ref:
        if self.rng.random() < 0.6:
            return super().result(space, dtype)
        step, strides = self.pick([2, 3, 5]), [0] * len(space)
        for a in reversed(range(len(space))):
            strides[a], step = step, step * space[a]
        return self._filled(space, strides, dtype)

    def _filled(self, space: tuple[int, ...], strides: list[int], dtype: np.dtype) -> Ref:
        ends = [(n - 1) * s for n, s in zip(space, strides, strict=True)]
        offset = -sum(min(e, 0) for e in ends)
        value = Value((offset + sum(max(e, 0) for e in ends) + 1,), dtype)
        self.memory.put(value, self.numbers(value.size, dtype))
        return Ref(value, space, tuple(strides), offset)

"""`torch.quasirandom`: points that fill a cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

from ..core.random import Generator
from ..core.tensor import dtype as dtypes
from ..core.tensor.layout import contiguous_format
from ..core.tensor.tensor import Tensor
from ..ops import OPS
from ..ops.random import sobol

__all__ = ["SobolEngine"]


class SobolEngine:
    """Sobol' sequences, plain or scrambled, with the direction numbers of Joe and Kuo (2008).

    Args:
        dimension: of the cube, at most 21201.
        scramble: whether a random matrix and a random shift are applied to the bits of each dimension (Owen, 1998).
        seed: of the scrambling; by default the default generator of random numbers is used, and goes on.
    Raises:
        ValueError: there are not so many dimensions, as in `SobolEngine(0)`.

    >>> SobolEngine(3).draw(3)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.5000, 0.5000],
            [0.7500, 0.2500, 0.2500]])
    """

    MAXBIT = sobol.BITS
    MAXDIM = sobol.DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None):
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = OPS["zeros"](dimension, self.MAXBIT, device="cpu", dtype=dtypes.int64)
        sobol._sobol_engine_initialize_state_(self.sobolstate, dimension)
        if scramble:
            self._scramble()
        else:
            self.shift = OPS["zeros"](dimension, device="cpu", dtype=dtypes.int64)
        self.quasi = self.shift.clone(memory_format=contiguous_format)
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points.

        Args:
            out: a tensor that takes the shape and the values.
            dtype: float32 or float64; by default the default float type.
        Shape: -> (n, dimension)
        """
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        result = self._next(n, dtype)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)  # type: ignore[attr-defined]

    def _next(self, n: int, dtype: Any) -> Tensor:
        if self.num_generated:
            return self._after_quasi(n, self.num_generated - 1, dtype)
        first = self._first_point.to(dtype)
        return first if n == 1 else OPS["cat"]((first, self._after_quasi(n - 1, 0, dtype)), dim=-2)

    def _after_quasi(self, n: int, at: int, dtype: Any) -> Tensor:
        points, self.quasi = sobol._sobol_engine_draw(self.quasi, n, self.sobolstate, self.dimension, at, dtype=dtype)
        return points

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points; all points drawn so far must then be a power of 2, for which they are balanced.

        Args:
            out: a tensor that takes the shape and the values.
            dtype: float32 or float64; by default the default float type.
        Shape: -> (2**m, dimension)
        Raises:
            ValueError: their number is no power of 2.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have "
                f"been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, "
                "please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point. Returns the engine."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next `n` points. Returns the engine."""
        at = self.num_generated
        steps, start = (n, at - 1) if at else (n - 1, 0)
        sobol._sobol_engine_ff_(self.quasi, steps, self.sobolstate, self.dimension, start)
        self.num_generated += n
        return self

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        size = (self.dimension, self.MAXBIT)
        bits = OPS["randint"](2, size, device="cpu", generator=generator)
        self.shift = OPS["mv"](bits, OPS["pow"](2, OPS["arange"](0, self.MAXBIT, device="cpu")))
        matrices = OPS["randint"](2, (*size, self.MAXBIT), device="cpu", generator=generator).tril()
        sobol._sobol_engine_scramble_(self.sobolstate, matrices, self.dimension)

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        options += ["scramble=True"] if self.scramble else []
        options += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(options)})"

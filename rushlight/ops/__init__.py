"""Every operator, by torch's name. Importing the files registers them; `OPS` maps each name to its function."""

from ..core.record import OPS
from . import (
    activation, adaptive_pool, addmm, attention, avg_pool, bessel, bessel_tables, bitwise, comparison, complex_parts, conv,
    copying, counting, create, ctc, cumulative, elementary, elements, embedding, extremum, gamma, grid, index, index_slices, interpolate, join,
    linalg, loss, low_rank, mask, matmul, normalize, ordering, parts, pointwise, pool, power, predicates, products, ranges, recurrent, reduction,
    replaced_parts, resize, sample, scatter, scatter_reduce, sequences, smooth, softmax, special, special_polynomials, special_tables,
    take, variance, view, inplace_names,
)  # fmt: skip

globals().update(OPS)
__all__ = [*OPS]  # pyright: ignore[reportUnsupportedDunderAll]: the files register the names

"""LU factors with partial pivoting, and what follows from them: determinants.

NumPy offers LAPACK's solvers but not its LU factors, so they are computed here: a panel of columns at a time, the rest by
matrix products, all matrices of a batch together.
"""

from __future__ import annotations

import numpy as np

from ..core.record import composite, primitive
from ..core.return_types import named
from .comparison import where
from .create import eye
from .join import cat
from .matrices import (
    adjoint, check_floating, check_kernel, check_matrix, check_same_type, check_square, first_failure, fresh,
    identity_times, real_type,
)  # fmt: skip
from .solvers import _solve_ex, lu_solve_arrays, permutation, solve_triangular, svd_of

_PANEL = 32  # columns factored before the rest of the matrix is brought up to date

# ---------------------------------------------------------------------------------------------- on raw arrays

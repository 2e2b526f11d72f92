"""Linear algebra under the names of `torch.linalg`."""

from ...core.dispatch.torch_function import publish
from .determinant import det, slogdet
from .factor import cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from .householder import householder_product
from .ldl import ldl_factor, ldl_factor_ex, ldl_solve
from .least_squares import lstsq, pinv
from .lu import lu, lu_factor, lu_factor_ex, lu_solve, solve_triangular
from .matrices import LinAlgError
from .matrix_functions import (
    cross,
    diagonal,
    matmul,
    matrix_exp,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from .matrix_norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from .solvers import inv, inv_ex, solve, solve_ex

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

publish({name: globals()[name] for name in __all__})

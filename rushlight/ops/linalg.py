"""Linear algebra under the names of `torch.linalg`."""

from .determinant import det, slogdet
from .factor import cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from .lu import lu, lu_factor, lu_factor_ex, lu_solve, solve_triangular
from .matrices import LinAlgError
from .solvers import inv, inv_ex, solve, solve_ex

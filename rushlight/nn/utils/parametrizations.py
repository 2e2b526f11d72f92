"""Ready-made parametrizations: orthogonal matrices, spectral normalization, weight normalization."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional as F
from rushlight.nn.modules.conv import _ConvTransposeNd
from rushlight.nn.modules.module import Module
from rushlight.ops.linalg import linalg

from .parametrize import register_parametrization
from .weight_norm import _norm_except, normalised

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _weight(module: Any, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


# ---------------------------------------------------------------------------------------------- orthogonal


def _orthogonalized(a: Any) -> Any:
    """The Q of a QR decomposition with a positive diagonal in R."""
    x, tau = ops.geqrf(a)
    q = linalg.householder_product(x, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(q: Any) -> bool:
    n, k = q.shape[-2:]
    eps = 10.0 * n * _eps(q)
    identity = ops.eye(k, dtype=q.dtype)
    return bool(((q.mH @ q - identity).abs() <= eps).all())


def _eps(t: Any) -> float:
    """The rounding unit of a tensor's type."""
    return finfo(t.dtype).eps


class _Orthogonal(Module):
    """A map onto matrices with orthonormal columns (rows, if they are fewer)."""

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        transposed = X.size(-2) < X.size(-1)
        X = X.mT if transposed else X
        n, k = X.size(-2), X.size(-1)
        Q = self._householder(X) if self.orthogonal_map == "householder" else self._of_skew(X, n, k)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def _of_skew(self, X: Any, n: int, k: int) -> Any:
        """exp(A), or (I + A/2) / (I - A/2), of the skew-symmetric A whose lower triangle is that of X."""
        X = X.tril()
        if n != k:
            X = ops.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], -1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = ops.matrix_exp(A)
        else:
            identity = ops.eye(n, dtype=A.dtype)
            Q = linalg.solve(ops.add(identity, A, alpha=-0.5), ops.add(identity, A, alpha=0.5))
        return Q[..., :k] if n != k else Q

    def _householder(self, X: Any) -> Any:
        A = X.tril(-1)
        tau = 2.0 / (1.0 + (A * A).sum(-2))
        return linalg.householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given, transposed = Q, Q.size(-2) < Q.size(-1)
        Q = Q.mT if transposed else Q
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            return self._reflectors(Q, transposed)
        if n != k:
            filling = ops.randn(*Q.size()[:-2], n, n - k, dtype=Q.dtype)
            Q = _orthogonalized(ops.cat([Q, filling], -1))
        else:
            Q = Q.clone() if _is_orthogonal(Q) else _orthogonalized(Q)
        self.base = Q
        minus_identity = ops.zeros_like(given)
        minus_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return minus_identity

    def _reflectors(self, Q: Any, transposed: bool) -> Any:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        A, tau = ops.geqrf(Q)
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0.0] *= -1
        return A.mT if transposed else A


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keep a matrix orthogonal (or with orthonormal columns or rows). orthogonal_map: "matrix_exp" (default for square
    and complex ones), "cayley" or "householder" (default).
    """
    weight = _weight(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


# ---------------------------------------------------------------------------------------------- weight norm


class _WeightNorm(Module):
    """g v / ||v||, the norms taken over all dimensions but `dim`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalised(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm_except(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train a weight's norms along `dim` (original0) and its direction (original1)."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


# ---------------------------------------------------------------------------------------------- spectral norm


class _SpectralNorm(Module):
    """The weight divided by its largest singular value, which power iteration estimates."""

    _u: Any
    _v: Any

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % rank, eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in matrix.size())
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        if self.dim:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Any, n: int) -> None:
        for _ in range(n):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next forward writes the buffers before this one's backward runs
        return weight / ops.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its largest singular value. dim: the rows of the weight as a matrix."""
    weight = _weight(module, name)
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))

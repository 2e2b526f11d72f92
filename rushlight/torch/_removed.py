"""Functions that torch had once: calling one raises torch's RuntimeError, which says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor.tensor import Tensor

__all__ = ["eig", "lstsq", "matrix_rank", "reinforce", "solve", "symeig"]


def _removed(name: str, advice: str) -> Callable:
    def f(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {advice}")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Raises RuntimeError: {advice}"
    return f


eig = _removed(
    "eig",
    "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
    "complex tensors: L, V = torch.linalg.eig(A), or L = torch.linalg.eigvals(A) without eigenvectors.",
)
lstsq = _removed(
    "lstsq",
    "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, which has reversed arguments and does not return "
    "the QR decomposition in the returned tuple: X = torch.linalg.lstsq(B, A).solution.",
)
solve = _removed(
    "solve",
    "`torch.solve` is deprecated in favor of `torch.linalg.solve`, which has its arguments reversed and does not return "
    "the LU factorization: X = torch.linalg.solve(A, B).",
)
symeig = _removed(
    "symeig",
    "The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
    "lower triangular portion: L, V = torch.linalg.eigh(A, UPLO='U'), or torch.linalg.eigvalsh without eigenvectors.",
)
matrix_rank = _removed(
    "matrix_rank",
    "Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
    "`torch.linalg.matrix_rank()` to 'hermitian'.",
)


def reinforce(self: Tensor, reward: Any) -> Any:
    """Raises RuntimeError: `torch.distributions` draws actions, and its `log_prob` gives the loss."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead.\n"
        "See https://pytorch.org/docs/main/distributions.html\n\n"
        "m = Categorical(policy_network(state)); action = m.sample(); loss = -m.log_prob(action) * reward; loss.backward()"
    )


for _method in (eig, lstsq, reinforce, solve, symeig):
    setattr(Tensor, _method.__name__, _method)

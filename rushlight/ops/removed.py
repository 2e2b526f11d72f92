"""Functions that torch has removed: they say what takes their place."""

from __future__ import annotations

from ..core.record import publish

_ADVICE = {
    "symeig": (
        "The default behavior has changed from using the upper triangular portion of the matrix by default to using the "
        "lower triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with: L = "
        "torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L'), and with eigenvectors L, V = torch.linalg.eigh(A, UPLO)"
    ),
    "eig": (
        "`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors mimicking "
        "complex tensors.\n\nL, V = torch.eig(A, eigenvectors=True) should be replaced with: L_complex, V_complex = "
        "torch.linalg.eig(A)"
    ),
    "lstsq": (
        "`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments are reversed: X, _ = "
        "torch.lstsq(B, A) should be replaced with: X = torch.linalg.lstsq(A, B).solution"
    ),
    "solve": (
        "`torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments are reversed: X = torch.solve(B, "
        "A).solution should be replaced with: X = torch.linalg.solve(A, B)"
    ),
    "matrix_rank": (
        "Please use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
        "`torch.linalg.matrix_rank()` to 'hermitian'."
    ),
}


def _removed(name: str):
    def f(*args, **kwargs):
        raise RuntimeError(f"This function was deprecated since version 1.9 and is now removed. {_ADVICE[name]}")

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"Removed from torch: {_ADVICE[name]}"
    return f


for _name in _ADVICE:
    publish(_name, _removed(_name), _name != "matrix_rank", False, ())

"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters one after the other, with their history.

    Shape: (*), ... -> (number of elements)

    >>> parameters_to_vector([tensor([[1.0, 2.0]]), tensor([3.0])])
    tensor([1., 2., 3.])
    """
    return ops.cat([param.view(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the parameters views of slices of the vector.

    Args:
        vec: at least as many elements as the parameters have.
    Shape: (number of elements), (*), ... -> None, in place: (*), ...
    Raises:
        TypeError: `vec` is not a tensor, as in `vector_to_parameters([1.0], [zeros(1)])`.

    >>> w = zeros(2)
    >>> vector_to_parameters(tensor([1.0, 2.0]), [w])
    >>> w
    tensor([1., 2.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for param in parameters:
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop

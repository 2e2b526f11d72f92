"""`torch.convolution`: convolutions of every number of dimensions, transposed or not, in one function."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.dispatch.op import OPS
from ...core.tensor.tensor import Tensor

__all__ = ["convolution"]


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """`conv1d` to `conv3d`, or `conv_transpose1d` to `conv_transpose3d`, by the number of the weight's dimensions.

    Args:
        output_padding: for transposed ones.
    Shape: (N, C, *), (K, C/groups, *), (K) -> (N, K, *).
    Raises:
        RuntimeError: another number of dimensions than the weight's, as in
            `convolution(ones(2, 5), ones(1, 2, 3), None, [1], [0], [1], False, [0], 1)`.

    >>> convolution(ones(1, 1, 4), ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2., 2.]]])
    """
    n = weight.dim()
    if input.dim() != n:
        raise RuntimeError(
            f"Expected {n}-dimensional input for {n}-dimensional weight {list(weight.shape)}, but got {input.dim()}-dimensional "
            f"input of size {list(input.shape)} instead"
        )
    if transposed:
        run = OPS[f"conv_transpose{n - 2}d"]
        return run(input, weight, bias, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation))
    return OPS[f"conv{n - 2}d"](input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups)

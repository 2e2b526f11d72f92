"""Stochastic depth: a residual branch left out at random (Huang et al., arXiv 1603.09382)."""

import rushlight as torch
from rushlight import nn


def stochastic_depth(input, p, mode, training=True):
    """The input, zeroed with probability `p` and scaled by 1 / (1 - p) otherwise.

    Source: Huang et al., Deep Networks with Stochastic Depth, 2016.

    Args:
        mode: "batch" decides once for the whole batch, "row" for each of its entries.
        training: False leaves the input as it is.
    Shape: (N, *) -> (N, *)
    Raises:
        ValueError: `p` is outside [0, 1], as in `stochastic_depth(ones(2), 2.0, "batch")`.
        ValueError: `mode` is another text, as in `stochastic_depth(ones(2), 0.5, "x")`.

    >>> stochastic_depth(ones(2), 0.5, "batch", training=False)
    tensor([1., 1.])
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    survival = 1.0 - p
    rows = input.shape[0] if mode == "row" else 1
    noise = torch.empty([rows] + [1] * (input.ndim - 1), dtype=input.dtype, device=input.device).bernoulli_(survival)
    if survival > 0.0:
        noise.div_(survival)
    return input * noise


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a module.

    Shape: (N, *) -> the same
    Raises:
        ValueError: `mode` is another text, as in `StochasticDepth(0.5, "x")(ones(2))`.

    >>> StochasticDepth(0.5, "row").eval()(ones(2))
    tensor([1., 1.])
    """

    def __init__(self, p, mode):
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input):
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"

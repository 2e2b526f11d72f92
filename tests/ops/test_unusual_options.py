"""Legal calls that few programs make: options as NumPy's numbers and 0-d tensors, by torch's keywords, with `out=`, of unusual layouts.

The values, types and strides are torch 2.13's.
"""

import math
import warnings

import numpy as np
import pytest

import rushlight as torch

# (call, dtype, strides, elements in the order of their indices)
CALLS = [
    ("torch.tensor([1, 2]) + np.bool_(True)", "float32", (1,), [2.0, 3.0]),
    ("torch.tensor([True]) * np.bool_(True)", "float32", (1,), [1.0]),
    ("torch.clamp(torch.tensor([1, 2]), max=np.bool_(True))", "float32", (1,), [1.0, 1.0]),
    ("torch.tensor([2, 3]) ** np.bool_(True)", "float32", (1,), [2.0, 3.0]),
    ("torch.full((2,), np.bool_(True))", "float32", (1,), [1.0, 1.0]),
    (
        "torch.add(torch.tensor([True, True]), torch.tensor([True, False]), alpha=torch.tensor(2))",
        "bool",
        (1,),
        [True, True],
    ),
    (
        "torch.add(torch.tensor([True, True]), torch.tensor([True, False]), alpha=np.int64(2))",
        "bool",
        (1,),
        [True, True],
    ),
    ("torch.prod(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), np.int64(1))", "float32", (1,), [2.0, 12.0]),
    ("torch.ones(2, 3).movedim(np.int64(0), np.int32(1))", "float32", (1, 3), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    ("torch.tensor_split(torch.arange(4), np.int32(2))[1]", "int64", (1,), [2, 3]),
    ("torch.arange(3.0).roll((1,), dims=[])", "float32", (1,), [2.0, 0.0, 1.0]),
    ("torch.arange(4.0).std(correction=torch.tensor(0))", "float32", (), [1.118034]),
    ("torch.tensor([0.26, 0.31]).round_(decimals=torch.tensor(1))", "float32", (1,), [0.3, 0.3]),
    ("torch.tensor([0.0, 10.0]).lerp(torch.tensor([1.0, 20.0]), torch.tensor(2))", "float32", (1,), [2.0, 30.0]),
    ("torch.logit(torch.tensor([0.2, 0.7]), 1)", "float32", (1,), [math.inf, math.inf]),
    (
        "torch.nansum(torch.tensor([[True, False], [True, True]]), 0, out=torch.empty(2, dtype=torch.bool))",
        "bool",
        (1,),
        [True, True],
    ),
    (
        "torch.zeros(2, dtype=torch.float64).add_(1).ldexp_(torch.tensor([0.3, 1.7], dtype=torch.bfloat16))",
        "float64",
        (1,),
        [1.234375, 3.25],
    ),
    (
        "torch.nn.functional.multi_margin_loss(torch.tensor([[1.0, float('nan'), 0.5]]), torch.tensor([0]))",
        "float32",
        (),
        [0.166667],
    ),
    (
        "torch.nn.functional.margin_ranking_loss(torch.tensor(3), torch.tensor(1), torch.tensor(-1), reduction='sum')",
        "float32",
        (),
        [2.0],
    ),
    ("torch.pdist(torch.tensor([[0.0, float('nan')], [1.0, 2.0]]), 0)", "float32", (1,), [math.nan]),
    (
        "torch.nn.functional.adaptive_max_pool2d(torch.tensor([[[[float('nan'), 1.0, 2.0, float('nan')]]]]), 1, return_indices=True)[1]",
        "int64",
        (1, 1, 1, 1),
        [3],
    ),
    (
        "torch.nn.functional.grid_sample(torch.tensor([[[[float('nan'), 1.0], [2.0, 3.0]]]]), torch.tensor([[[[1.5, 1.5], [0.5, 1.2]]]]), align_corners=False)",
        "float32",
        (2, 2, 2, 1),
        [0.0, 0.9],
    ),
    ("torch.special.chebyshev_polynomial_t(x=torch.tensor([0.5]), n=torch.tensor([2]))", "float32", (1,), [-0.5]),
    ("torch.special.chebyshev_polynomial_u(torch.tensor([0.5]), float('inf'))", "float32", (1,), [0.0]),
    ("torch.special.airy_ai(x=torch.tensor([0.0]))", "float32", (1,), [0.355028]),
    ("torch.acos_(input=torch.tensor([1.0]))", "float32", (1,), [0.0]),
    ("torch.linalg.matrix_power(input=torch.eye(2) * 2, n=2)", "float32", (2, 1), [4.0, 0.0, 0.0, 4.0]),
    ("torch.linalg.vector_norm(input=torch.tensor([3.0, 4.0]))", "float32", (), [5.0]),
    ("torch.zeros(2).index_reduce(0, torch.tensor([0]), torch.tensor([2.0]), 'amax')", "float32", (1,), [2.0, 0.0]),
    (
        "torch.tensor([[False, True]]).index_reduce(1, torch.tensor([0]), torch.tensor([[True]]), 'amax')",
        "bool",
        (2, 1),
        [True, True],
    ),
    (
        "torch.margin_ranking_loss(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0]), torch.tensor([1.0, 1.0]), reduction=3)",
        "float32",
        (1,),
        [2.0, 0.0],
    ),
    ("torch.threshold(torch.tensor([0.5, 2.0]), 1.0, 9.0, out=torch.empty(2))", "float32", (1,), [9.0, 2.0]),
    (
        "torch.nonzero_static(torch.tensor([0, 3]), size=2, out=torch.empty(0, dtype=torch.int64))",
        "int64",
        (1, 1),
        [1, -1],
    ),
    ("torch.tensor([[1.0, 2.0]]).sum_to_size(size=(1, 1))", "float32", (1, 1), [3.0]),
    ("torch.arange(6).view(2, 3).swapaxes_(axis0=0, axis1=1)", "int64", (1, 3), [0, 3, 1, 4, 2, 5]),
    ("torch.zeros(0, 2).addbmm(torch.zeros(2, 0, 2), torch.ones(2, 2, 2))", "float32", (2, 1), []),
    ("torch.tensor([1.0, 2.0]).expand(2, 2).t().conj_physical_()", "float32", (1, 0), [1.0, 1.0, 2.0, 2.0]),
    (
        "torch.arange(3).view(1, 3).expand(2, 3).asin()",
        "float32",
        (3, 1),
        [0.0, 1.570796, math.nan, 0.0, 1.570796, math.nan],
    ),
    ("torch.arange(3).view(1, 3).expand(2, 3).clamp(max=2.5)", "float32", (3, 1), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
    (
        "torch.arange(3.0).bfloat16().view(1, 3).expand(2, 3).sigmoid()",
        "bfloat16",
        (3, 1),
        [0.5, 0.730469, 0.878906, 0.5, 0.730469, 0.878906],
    ),
    ("torch.arange(6).view(2, 3).t().floor()", "int64", (1, 3), [0, 3, 1, 4, 2, 5]),
    ("torch.arange(6).view(2, 3).t().isnan()", "bool", (1, 3), [False, False, False, False, False, False]),
    ("torch.arange(6).view(2, 3).t().isreal()", "bool", (1, 3), [True, True, True, True, True, True]),
    ("torch.arange(6).view(2, 3).t().round()", "int64", (1, 3), [0, 3, 1, 4, 2, 5]),
    ("torch.arange(6).view(2, 3).t().nan_to_num()", "int64", (1, 3), [0, 3, 1, 4, 2, 5]),
    (
        "torch.rsub(torch.ones(2, 3), torch.arange(6.0).view(3, 2).t())",
        "float32",
        (1, 2),
        [-1.0, 1.0, 3.0, 0.0, 2.0, 4.0],
    ),
    ("torch.fft.irfft(torch.ones(2, 3), dim=0, out=torch.empty(0))", "float32", (3, 1), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
    ("torch.arange(6.0).view(2, 3).take(torch.tensor(4))", "float32", (), [4.0]),
    ("torch.arange(6.0).take(torch.tensor([[1, 2], [3, 4]]).t())", "float32", (2, 1), [1.0, 3.0, 2.0, 4.0]),
    (
        "torch.relu(torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]).t().half())",
        "float16",
        (1, 3),
        [1.0, 4.0, 0.0, 5.0, 3.0, 0.0],
    ),
]


@pytest.mark.parametrize(("call", "dtype", "strides", "elements"), CALLS, ids=[c[0] for c in CALLS])
def test_values_types_and_strides(call, dtype, strides, elements):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are in beta
        result = eval(call, {"torch": torch, "np": np})
    assert str(result.dtype) == f"torch.{dtype}" and result.stride() == strides
    torch.testing.assert_close(
        result.flatten(), torch.tensor(elements, dtype=result.dtype), equal_nan=True, rtol=1e-5, atol=1e-6
    )


REFUSED = [
    ("torch.tensor(np.float32(2.7), dtype=torch.int64)", TypeError, "'numpy.float32' object cannot be interpreted as an integer"),
    ("torch.as_tensor(np.float32(2), dtype=torch.bool)", TypeError, "'numpy.float32' object cannot be interpreted"),
    ("torch.tensor([1, np.bool_(True)], dtype=torch.uint8)", TypeError, "'numpy.bool' object cannot be interpreted"),
    ("torch.ones(2, 3).std(1, None)", TypeError, "received an invalid combination of arguments"),
    ("torch.ones(2).contiguous(memory_format=None)", TypeError, "must be torch.memory_format, not NoneType"),
    ("torch.relu(torch.ones(2), True)", TypeError, "takes 1 positional argument but 2 were given"),
    ("torch.add(torch.tensor([1]), torch.tensor([1]), alpha=torch.tensor(2.5))", RuntimeError, "alpha must not be a floating"),
    ("torch.add(torch.tensor([1]), torch.tensor([1]), alpha=torch.tensor(True))", RuntimeError, "Boolean alpha only supported"),
    ("torch.nansum(torch.ones(2), 0, out=torch.empty((), dtype=torch.bool))", NotImplementedError, "nansum_cpu"),
    ("torch.ones(2).nanmean(dtype=torch.int32)", RuntimeError, "could not infer output dtype"),
    ("torch.ones(2).cumsum_(0, dtype=torch.int32)", RuntimeError, "Bad in-place call: input tensor dtype float and output tensor dtype int"),
    ("torch.tensor([3]).mvlgamma_(1)", RuntimeError, "result type Long can't be cast to the desired output type Float"),
    ("torch.tensor([True]).mvlgamma(1)", RuntimeError, "may not be a boolean tensor"),
    ("torch.zeros(4, 4).as_strided_scatter(torch.ones(3), (2,), (1,))", RuntimeError, r"src size = \[3\], slice size = \[2\]"),
    ("torch.rms_norm(torch.ones(2, 3), (3,), torch.ones(2, 3))", RuntimeError, "Expected weight to be of same shape"),
    ("torch.rms_norm(torch.ones(2, dtype=torch.int64), (2,))", NotImplementedError, '"rms_norm" not implemented'),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), REFUSED, ids=[c[0] for c in REFUSED])
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        eval(call, {"torch": torch, "np": np})


def gradient(f, *values, dtype=torch.float32):
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    f(x).backward()
    return x.grad.tolist()


def test_gradients_of_results_in_another_type_are_taken_in_torchs():
    weights = torch.tensor([0.3, 1.1, 2.7])
    running = gradient(lambda x: (x.cumsum(0, dtype=torch.float16) * weights).sum(), 1.0, 2.0, 3.0)
    assert running == [4.098876953125, 3.798828125, 2.69921875]  # summed in float32, after the rounding
    product = gradient(lambda x: x.prod(dtype=torch.float16) * 1.0, 1.1, 2.3, 3.7)
    assert product == [8.5078125, 4.06640625, 2.529296875]


def test_a_grid_that_picks_nearest_elements_has_no_gradient_at_nan():
    image = torch.full((1, 1, 2, 2), math.nan)
    grid = torch.zeros(1, 1, 1, 2, requires_grad=True)
    torch.nn.functional.grid_sample(image, grid, mode="nearest", align_corners=False).sum().backward()
    assert grid.grad.tolist() == [[[[0.0, 0.0]]]]


def test_a_tensor_is_max_s_dimension_by_keyword_and_the_other_operand_by_place():
    x, d = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor(0)
    assert x.max(dim=d).indices.tolist() == [1, 0] and torch.min(x, dim=d, keepdim=True).values.tolist() == [[1, 2]]
    assert x.max(d).tolist() == x.tolist() and torch.min(x, d).tolist() == [[0, 0], [0, 0]]
    assert x.max(torch.ones(2) * 4).tolist() == [[4, 5], [4, 4]]
    by_word = {"dim": d}
    assert torch.max(x, **by_word).indices.tolist() == [1, 0] and getattr(x, "min")(**by_word).values.tolist() == [1, 2]  # noqa: B009
    assert torch.max(x, d, True).values.tolist() == [[3, 5]]  # only a dimension is followed by keepdim
    for given in ((1, {"dim": 1}), (x, {"dim": 1}), (x, {"keepdim": True}), (torch.tensor([0]), {"keepdim": True})):
        with pytest.raises(TypeError):
            torch.max(x, given[0], **given[1])
    for given in ({"keepdim": True}, {"keepdims": False}, {"dim": 0, "axis": 1}):
        for call in (x.max, x.min, lambda **given: torch.max(x, **given), lambda **given: torch.min(x, **given)):
            with pytest.raises(
                TypeError, match=r"received an invalid combination of arguments|got an unexpected keyword"
            ):
                call(**given)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: torch.linalg.pinv(x, hermitian=True), "linalg.eigh: A must be batches of square matrices"),
        (lambda x: torch.linalg.cond(x, "fro"), r"linalg.cond\(ord=fro\): A must be batches of square matrices"),
    ],
    ids=["pinv", "cond"],
)
def test_matrices_that_are_not_square_are_called_as_torch_calls_them(call, said):
    with pytest.raises(RuntimeError, match=said):
        call(torch.ones(2, 3))

"""Calls that torch refuses: results written onto what they read, other types, numbers that do not fit."""

import io
import re

import pytest

import rushlight as torch

T = torch.ones(3)
C = torch.ones(2, dtype=torch.complex64)
ONTO = "some elements of the input tensor and the written-to tensor refer to a single memory location"
CALLS = {
    "take": (lambda: torch.take(T, torch.tensor([0]), out=T), ONTO),
    "cat": (lambda: torch.cat([T, T], out=T), ONTO),
    "stack": (lambda: torch.stack([T, T], out=T), ONTO),
    "gather": (lambda: torch.gather(T, 0, torch.tensor([0]), out=T), ONTO),
    "index_select": (lambda: torch.index_select(T, 0, torch.tensor([0]), out=T), ONTO),
    "masked_select": (lambda: torch.masked_select(T, T > 0, out=T), ONTO),
    "wider": (lambda: torch.add(T, torch.ones(2, 1), out=T), r"output with shape \[3\] doesn't match .* \[2, 3\]"),
    "where": (lambda: torch.where(torch.ones(2, 1) > 0, T, T, out=T), r"output with shape \[3\]"),
    "ceil": (lambda: C.ceil(), "ceil is not supported for complex inputs"),
    "trunc": (lambda: C.trunc(), "trunc is not supported for complex inputs"),
    "unfold": (lambda: torch.ones(()).unfold(0, 2, 1), "maximum size for tensor at dimension 0 is 1 but size is 2"),
    "cumsum of bools": (lambda: torch.cumsum(T, 0, dtype=torch.bool), "\"cumsum_out_cpu\" not implemented for 'Bool'"),
    "cumsum into bools": (lambda: torch.cumsum(T > 0, 0, out=T > 0), "\"cumsum_out_cpu\" not implemented for 'Bool'"),
    "cumprod of bools": (lambda: torch.cumprod(T > 0, 0, out=T > 0), "\"cumprod_out_cpu\" not implemented for 'Bool'"),
    "cumsum in two types": (
        lambda: torch.cumsum(T, 0, dtype=torch.float64, out=torch.empty(3)),
        "Expected out tensor to have dtype double, but got float instead",
    ),
    "fmod": (lambda: torch.fmod(T > 0, T > 0), "\"fmod_cpu\" not implemented for 'Bool'"),
    "complex amax": (lambda: C.amax(), "\"max_values_cpu\" not implemented for 'ComplexFloat'"),
    "amax into doubles": (
        lambda: torch.amax(T, 0, out=torch.zeros((), dtype=torch.float64)),
        "Expected the dtype for input and out to match, but got Float for input's dtype and Double for out's dtype",
    ),
    "aminmax": (lambda: torch.zeros(0).aminmax(), "cannot compute aminmax over an empty dimension"),
    "histc": (lambda: torch.histc(T, 3, 2, 1), "torch.histc: max must be larger than min"),
    "pdist": (lambda: torch.pdist(torch.ones(3, 2).half()), "\"pdist\" not implemented for 'Half'"),
    "norm of nothing": (lambda: torch.zeros(0).norm(-2), "cannot compute the -2 norm on an empty tensor"),
    "norm of no rows": (
        lambda: torch.zeros(2, 0).norm(-2, 1),
        "the -2 norm on the dimension 1because this dimension is",
    ),
    "equal": (lambda: torch.equal(torch.eye(2).to_sparse(), torch.ones(3)), "Could not run 'aten::equal'"),
    "kthvalue": (lambda: torch.ones(2, 3, dtype=torch.bool).kthvalue(4, 1), "selected number k out of range"),
    "norm": (lambda: torch.norm(torch.ones(2, 2, 2), dim=(0, 1, 2)), "dim must be a 2-tuple. Got 0 1 2"),
    "fill": (lambda: torch.ones(1, dtype=torch.long).fill_(2**63), "value cannot be converted to type int64_t"),
    "scatter": (
        lambda: torch.ones(2, 2).scatter(0, torch.zeros(3, 3, dtype=torch.long), torch.ones(3, 3)),
        r"Expected index \[3, 3\] to be no larger than self \[2, 2\] apart from dimension 0 and to be no larger size than src",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_refused(name):
    call, message = CALLS[name]
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        call()
    assert T.tolist() == [1.0, 1.0, 1.0]


def test_what_is_allowed():
    t = torch.ones(3)
    assert torch.add(t, t, out=t).tolist() == [2.0, 2.0, 2.0]
    assert (
        torch.where(t > 0, t, t, out=t) is t and torch.gather(t, 0, torch.tensor([0]), out=torch.empty(1)).item() == 2
    )
    assert torch.ones(1).fill_(2**63).item() == 2.0**63 and torch.tensor(2**63, dtype=torch.bool).item() is True


@pytest.mark.parametrize("dim", [-1, 1])
def test_an_empty_dimension_is_named_as_it_was_given(dim):
    with pytest.raises(IndexError, match=f"Expected reduction dim {dim} to have"):
        torch.zeros(2, 0).amax(dim)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_into_another_type_than_was_asked_for(name):
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype double, but got float instead"):
        getattr(torch, name)(T, 0, dtype=torch.float64, out=torch.empty(()))


def test_means_are_computed_in_the_type_of_the_result():
    x = torch.tensor([1.0, 1.001]).half()
    assert torch.mean(x, 0, out=torch.empty(())).item() == 1.00048828125 and torch.mean(x, 0).item() != 1.00048828125


@pytest.mark.parametrize(
    ("error", "call", "message"),
    [
        (
            ValueError,
            lambda x: torch.func.jvp(torch.sin, (x,), (x,)),
            "Expected primal to be floating point or complex",
        ),
        (ValueError, lambda x: torch.func.jacfwd(torch.sin)(x), "but got: torch.int64"),
        (RuntimeError, lambda x: torch.func.grad(lambda v: v.sum())(x * 1j), "only for real scalar outputs"),
        (IndexError, lambda x: x[0][1:], r"slice\(\) cannot be applied to a 0-dim tensor"),
        (IndexError, lambda x: x[0].unique(dim=-1), "Dimension specified as -1 but tensor has no dimensions"),
        (RuntimeError, lambda x: torch.zeros(2, 0).index_select(1, x[:1]), "self indexing axis dim should be positive"),
        (RuntimeError, lambda x: x[0].view(torch.int32), "to view Long as Int"),
        (
            RuntimeError,
            lambda x: torch.norm(x, dim=0, dtype=torch.float32),
            "Expected a floating point or complex tensor",
        ),
        (RuntimeError, lambda x: torch.norm(x * 1j, dim=0, dtype=torch.float32), "dtype should be complex"),
    ],
)
def test_errors_of_torchs_kind(error, call, message):
    with pytest.raises(error, match=message):
        call(torch.arange(3))


def test_calls_that_torch_takes():
    x = torch.tensor([[True, False]])
    assert x.swapaxes(axis0=0, axis1=1).tolist() == x.swapdims(dim0=0, dim1=1).tolist() == [[True], [False]]
    assert (
        torch.all(torch.tensor([1, 2], dtype=torch.uint8), dim=0, out=torch.zeros((), dtype=torch.bool)).item() is True
    )
    assert torch.nn.functional.dropout(x, 1.0).tolist() == [[False, False]]
    assert torch.nn.functional.dropout(C, 1.0).tolist() == [0, 0]
    assert C.mean(dtype=torch.float64).item() == C.prod(dtype=torch.float64).item() == 1.0  # without a warning
    assert torch.cat([torch.zeros(0), torch.zeros(0).double()], 3).dtype is torch.float64
    assert torch.zeros(0, 3).view(torch.uint8).shape == (0, 12) and torch.block_diag().shape == (1, 0)


def test_stack_looks_at_the_dimension_first():
    with pytest.raises(IndexError, match="but got 5"):
        torch.stack([torch.ones(2), torch.ones(3)], 5)


def test_the_norm_of_order_zero_has_no_gradient():
    x = torch.ones(3, requires_grad=True)
    x.norm(p=0).backward()
    assert x.grad is None


def test_sparse_parameters_stay_parameters_in_files():
    p = torch.nn.Parameter(torch.eye(3).to_sparse())
    file = io.BytesIO()
    torch.save(p, file)
    file.seek(0)
    q = torch.load(file)
    assert isinstance(q, torch.nn.Parameter) and q.requires_grad and torch.equal(q.to_dense(), torch.eye(3))
    assert repr(q).startswith("Parameter containing:\ntensor(indices=")


def test_adafactor_has_no_option_differentiable():
    optimizer = torch.optim.Adafactor(torch.nn.Linear(2, 1).parameters())
    optimizer.load_state_dict(optimizer.state_dict())
    assert "differentiable" not in optimizer.param_groups[0]


@pytest.mark.parametrize(
    ("function", "options", "argument", "operator"),
    [
        ("embedding", {}, 1, "embedding"),
        ("embedding_bag", {}, 1, "embedding_bag"),
        ("embedding", {"max_norm": 1.0}, 2, "embedding_renorm_"),
        ("embedding_bag", {"max_norm": 1.0}, 2, "embedding_renorm_"),
    ],
)
@pytest.mark.parametrize(("kind", "name"), [("float32", "Float"), ("int16", "Short")])
def test_indices_of_other_types(function, options, argument, operator, kind, name):
    message = (
        f"Expected tensor for argument #{argument} 'indices' to have one of the following scalar types: Long, Int; but got "
        f"torch.{name}Tensor instead (while checking arguments for {operator})"
    )
    with pytest.raises(RuntimeError, match=re.escape(message)):
        getattr(torch.nn.functional, function)(
            torch.ones(1, 1, dtype=getattr(torch, kind)), torch.ones(3, 2), **options
        )


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ii->", [(2, 3)], "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
        ("ii->i", [(1, 3)], "subscript i is repeated for operand 0 but the sizes don't match, 3 != 1"),
        ("iji", [(2, 2, 3)], "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
        (
            "i,ii",
            [(4,), (2, 3)],
            "subscript i has size 2 for operand 1 which does not broadcast with previously seen size 4",
        ),
    ],
)
def test_sizes_of_a_repeated_subscript(equation, shapes, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        torch.einsum(equation, *map(torch.ones, shapes))


def test_bins_of_a_histogram():
    with pytest.raises(RuntimeError, match=r"torch.histogram\(\): bins must be > 0, but got -1 for dimension 0"):
        torch.histc(torch.ones(2), bins=-1)

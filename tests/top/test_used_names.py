"""Names of torch's inner modules that public packages use."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.distributed.algorithms._checkpoint import checkpoint_wrapper as wrappers
from rushlight.torch import _C, _checks, _utils
from rushlight.torch._dynamo import OptimizedModule


def test_compiled_modules_are_recognised():
    module = nn.Linear(2, 2)
    assert isinstance(torch.compile(module), OptimizedModule)
    assert not isinstance(module, OptimizedModule)
    assert torch.compile(module).dynamo_ctx(lambda x: x + 1)(torch.ones(1)) == 2


def test_checks():
    _checks._check(True)
    with pytest.raises(RuntimeError, match="wrong: 3"):
        torch._check(False, lambda: "wrong: 3")
    with pytest.raises(TypeError, match="cond must be a bool, but got <class 'int'>"):
        torch._check(1)
    with pytest.raises(IndexError, match="Expected cond to be True"):
        torch._check_index(False)
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check_tensor_all(torch.tensor([True, False]))
    with pytest.raises(RuntimeError):
        torch._check_is_size(-1)


def test_schemas():
    s = _C.parse_schema('my::f(Tensor x, int[] y, str? s="a") -> (Tensor, Tensor)')
    assert (s.name, s.overload_name, str(s)) == (
        "my::f",
        "",
        'my::f(Tensor x, int[] y, str? s="a") -> (Tensor, Tensor)',
    )
    assert [(a.name, a.type, a.default_value) for a in s.arguments] == [
        ("x", "Tensor", None),
        ("y", "List[int]", None),
        ("s", "Optional[str]", "a"),
    ]
    assert [r.type for r in s.returns] == ["Tensor", "Tensor"]
    assert _C.parse_schema("g(Tensor(a!) x) -> ()").is_mutable
    with pytest.raises(RuntimeError, match="is no schema"):
        _C.parse_schema("bad")


def test_numbers_are_plain():
    assert not isinstance(torch.ones(2).shape[0], torch.SymInt)
    with pytest.raises(NotImplementedError, match="sizes are plain numbers"):
        torch.SymInt(1)
    assert _utils._element_size(torch.float64) == 8


@pytest.mark.parametrize("kind", wrappers.CheckpointImpl)
def test_wrapped_modules_run_again_for_backward(kind):
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    names, x = list(plain.state_dict()), torch.ones(4, 2, requires_grad=True)
    (expected,) = torch.autograd.grad(plain(x).sum(), x)
    wrappers.apply_activation_checkpointing(
        plain, lambda m: wrappers.checkpoint_wrapper(m, kind), check_fn=lambda m: isinstance(m, nn.Linear)
    )
    assert isinstance(plain[0], wrappers.CheckpointWrapper) and plain[0].in_features == 2
    assert list(plain.state_dict()) == names and [n for n, _ in plain.named_parameters()]
    plain.load_state_dict(plain.state_dict())
    (got,) = torch.autograd.grad(plain(x).sum(), x) if kind is wrappers.CheckpointImpl.NO_REENTRANT else (expected,)
    assert torch.equal(got, expected)

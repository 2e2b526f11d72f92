"""`Tensor.grad_dtype`: the type that a leaf's gradient takes."""

import pytest

import rushlight as rl


def leaf():
    return rl.ones(2, requires_grad=True)


def test_it_is_the_tensors_own_until_it_is_set():
    x = leaf()
    assert x.grad_dtype is rl.float32 and rl.ones(1, dtype=rl.int64).grad_dtype is rl.int64
    x.grad_dtype = rl.float64
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert x.grad_dtype is x.grad.dtype is rl.float64 and x.grad.tolist() == [4.0, 4.0]


def test_hooks_and_grad_see_the_type():
    x, seen = leaf(), []
    x.grad_dtype = rl.bfloat16
    x.register_hook(lambda g: seen.append(g.dtype))
    (x * 2).sum().backward()
    assert rl.autograd.grad((x * 2).sum(), x)[0].dtype is rl.bfloat16 and seen == [rl.bfloat16] * 2


def test_none_takes_any_type():
    x = leaf()
    x.grad_dtype = None
    x.grad = rl.ones(2, dtype=rl.float64)
    (x * 2).sum().backward()
    assert x.grad_dtype is None and x.grad.dtype is rl.float64 and x.grad.tolist() == [3.0, 3.0]


def test_it_can_be_set_before_the_tensor_requires_grad():
    x = rl.ones(2)
    x.grad_dtype = rl.float64
    x.requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.dtype is rl.float64


def test_what_is_refused():
    x, y = leaf(), leaf() * 2
    x.grad = rl.ones(2)
    with pytest.raises(RuntimeError, match="already a gradient with dtype 'float'"):
        x.grad_dtype = rl.float64
    with pytest.raises(RuntimeError, match=r"must be a torch\.dtype or None, but got int"):
        x.grad_dtype = 3
    with pytest.raises(RuntimeError, match="accessed on leaf tensors"):
        y.grad_dtype  # noqa: B018
    with pytest.raises(RuntimeError, match="set on leaf tensors"):
        y.grad_dtype = rl.float64
    x.grad, x.grad_dtype = None, rl.float64
    with pytest.raises(RuntimeError, match="dtype 'float' to a tensor with grad_dtype 'Double'"):
        x.grad = rl.ones(2)

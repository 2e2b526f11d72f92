"""Writing in place: versions, views, and the errors that keep gradients right."""

import pytest

import rushlight as rl
from rushlight.core.tensor.storage import storage_of


def result():
    """A leaf and a 2x3 result of it that may be written to."""
    x = rl.arange(6.0).reshape(2, 3).clone().requires_grad_()
    return x, x * 1


def grad_of(y, x):
    return rl.autograd.grad(y, x, retain_graph=True)[0].tolist()


# ---------------------------------------------------------------------------------------------- versions


def test_versions_are_shared_by_aliases_but_not_by_data():
    x = rl.ones(3)
    view, detached, data = x[1:], x.detach(), x.data
    x.add_(1)
    assert (x._version, view._version, detached._version, data._version) == (1, 1, 1, 0)
    view.mul_(2)
    assert x._version == 2 and x.tolist() == [2.0, 4.0, 4.0]
    data.zero_()
    assert x._version == 2 and x.tolist() == [0.0, 0.0, 0.0]


def test_a_stale_input_raises():
    _x, y = result()
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError, match="one of the variables needed for gradient computation has been modified by an inplace"
    ):
        z.sum().backward()


def test_a_stale_result_raises():
    _x, y = result()
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 1; expected version 0 instead"):
        z.sum().backward()


def test_a_stale_value_names_the_operator_and_the_line():
    _x, y = result()
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match=r"saved by ExpBackward0 and changed by .*test_inplace\.py:\d+"):
        z.sum().backward()


def test_a_write_through_a_view_or_an_alias_counts():
    for alias in (lambda y: y[0], lambda y: y.detach(), lambda y: y.t()):
        _x, y = result()
        z = y * y
        with rl.no_grad():
            alias(y).add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_a_write_through_data_goes_unnoticed():
    x, y = result()
    z = (y * y).sum()
    y.data.mul_(10)
    z.backward()
    assert x.grad.tolist() == [[0.0, 20.0, 40.0], [60.0, 80.0, 100.0]]


def test_values_that_are_not_saved_may_change():
    x, y = result()
    z = (y + 1).sum() + y[y > 2].sum() + y[[0, 1]].sum() + rl.cat([y, y]).sum() + rl.stack([y, y]).sum()
    y.add_(5)
    z.backward()
    assert x.grad.tolist() == [[6.0, 6.0, 6.0], [7.0, 7.0, 7.0]]


def test_multiplying_by_itself_in_place_raises_in_backward():
    x, y = result()
    y.mul_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    x, y = result()
    y.add_(y)
    assert grad_of(y.sum(), x) == [[2.0] * 3] * 2


# ---------------------------------------------------------------------------------------------- histories


def test_gradient_through_in_place_operations():
    x, y = result()
    y.mul_(2).add_(1).mul_(x)
    assert rl.allclose(rl.autograd.grad(y.sum(), x)[0], 4 * x.detach() + 1)
    assert y.grad_fn.name() == "MulBackward0"


def test_writing_to_a_view_changes_the_base():
    x, y = result()
    y[0].mul_(3)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert "grad_fn=<CopySlices>" in repr(y)
    assert grad_of(y.sum(), x) == [[3.0] * 3, [1.0] * 3]


def test_sibling_views_follow():
    x, y = result()
    a, b = y[0], y[:, 0]
    a.mul_(3)
    assert grad_of(b.sum(), x) == [[3.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    b.mul_(5)
    assert grad_of(a.sum(), x) == [[15.0, 3.0, 3.0], [0.0, 0.0, 0.0]]


def test_nested_views():
    x, y = result()
    inner = y.t()[1:][:, 0].unsqueeze(0)
    inner.mul_(7)
    assert grad_of(y.sum(), x) == [[1.0, 7.0, 7.0], [1.0, 1.0, 1.0]]
    assert grad_of(inner.sum(), x) == [[0.0, 7.0, 7.0], [0.0, 0.0, 0.0]]


def test_chains_of_writes_to_nested_views():
    x, y = result()
    row = y[1]
    row[0] = 10.0
    row[1:].mul_(2)
    y[:, 2] *= row[1].clone()
    assert y.tolist() == [[0.0, 1.0, 16.0], [10.0, 8.0, 80.0]]
    assert grad_of(y.sum(), x) == [[1.0, 1.0, 8.0], [0.0, 2 + 2 * (2 + 10), 16.0]]


def test_writing_a_value_with_history_into_a_plain_tensor():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    out = rl.zeros(3)
    out[1:] = x * 3
    assert out.requires_grad
    out[0] = 5.0
    (out * rl.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [30.0, 300.0]


def test_overwritten_parts_get_no_gradient():
    x, y = result()
    y[0] = 0.0
    y.masked_fill_(y > 4, 1.0)
    assert grad_of(y.sum(), x) == [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    x, y = result()
    y.zero_()
    assert grad_of(y.sum(), x) == [[0.0] * 3] * 2


def test_in_place_under_no_grad_leaves_the_history():
    x, y = result()
    with rl.no_grad():
        y.mul_(100)
    assert y.grad_fn.name() == "MulBackward0" and grad_of(y.sum(), x) == [[1.0] * 3] * 2


def test_in_place_views():
    x, y = result()
    y.t_().unsqueeze_(0).squeeze_(0)
    assert y.shape == (3, 2) and y._version == 3
    y[0].mul_(2)
    assert grad_of(y.sum(), x) == [[2.0, 1.0, 1.0], [2.0, 1.0, 1.0]]
    w = rl.ones(2, 3, requires_grad=True)
    with rl.no_grad():
        w.t_()
    assert w.is_leaf and w.requires_grad
    w.sum().backward()
    assert w.grad.shape == (3, 2)


def test_a_view_made_transposed_in_place_follows_its_base():
    x, y = result()
    v = y[:, :2]
    v.t_()
    y.mul_(3)
    assert grad_of(v.sum(), x) == [[3.0, 3.0, 0.0]] * 2


# ---------------------------------------------------------------------------------------------- refusals


def test_leaves_and_their_views_are_protected():
    x = rl.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        x[0].add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[0] = 1.0
    v = rl.ones(6).view(2, 3).requires_grad_()  # a leaf that is itself a view
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v[0].add_(1)
    with rl.no_grad():
        x[0].add_(1)
    assert x[0].tolist() == [2.0] * 3


def test_views_made_under_no_grad_are_protected():
    _x, y = result()
    with rl.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        v.mul_(2)


def test_outputs_of_operators_with_several_views_are_protected():
    for split in (lambda y: y.unbind(0), lambda y: y.chunk(2), lambda y: y.split(1)):
        _x, y = result()
        with pytest.raises(RuntimeError, match="is the output of a function that returns multiple views"):
            split(y)[0].mul_(2)


@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_", "greater_equal_"])
@pytest.mark.parametrize("other", [2, rl.ones(2, 3)])
def test_a_comparison_in_place_ends_the_gradient(name, other):
    x, y = result()
    getattr(y, name)(other)
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2
    part = x * 1
    getattr(part[0], name)(3)
    assert grad_of(part.sum(), x) == [[0.0] * 3, [1.0] * 3]
    plain = rl.zeros(3)
    getattr(plain, name)(x[0])
    assert plain.requires_grad and grad_of(plain.sum(), x) == [[0.0] * 3] * 2
    flags = rl.zeros(3, dtype=rl.bool)
    getattr(flags, name)(x[0])
    assert not flags.requires_grad


def test_expanded_tensors_are_protected():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        rl.ones(1).expand(3).add_(1)


def test_types_and_shapes_of_in_place_results():
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
        rl.ones(2, dtype=rl.int64).add_(1.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        rl.ones(3).add_(rl.ones(2, 3))


def test_detach_in_place():
    x, y = result()
    y.detach_()
    assert not y.requires_grad and y.is_leaf
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 1)[0].detach_()


def test_data_assignment_keeps_the_version_and_the_leaf():
    x = rl.ones(2, requires_grad=True)
    with rl.no_grad():
        x.add_(1)
    x.data = rl.zeros(3)
    assert x._version == 1 and x.is_leaf and x.requires_grad and x.shape == (3,)


def test_the_last_writer_is_known_of_memory_with_two_records():
    x = rl.ones(4, 3)
    alias = x.data

    def assign():
        alias[0] = rl.zeros(3)

    def add():
        alias.add_(1)

    def fill():
        alias.zero_()

    def step():
        w = alias.requires_grad_()
        w.grad = rl.ones(4, 3)
        rl.optim.SGD([w], lr=0.1).step()

    for write in (assign, add, fill):
        write()
        assert storage_of(x).content.writer[0] is write.__code__
    step()
    assert "the optimizer's step" in storage_of(x).content.writer


@pytest.mark.parametrize("name", ["elu_", "celu_", "selu_", "leaky_relu_", "rrelu_"])
def test_activations_that_save_their_result(name):
    f = getattr(rl.nn.functional, name)
    x = rl.tensor([-2.0, 3.0], requires_grad=True)
    y = x * 1
    f(y)
    y.sum().backward()
    y = x * 1
    f(y)
    f(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_set_is_a_write():
    w, x = rl.ones(2, 2, requires_grad=True), rl.ones(1, 2, requires_grad=True)
    for source in ((rl.zeros(2, 2),), ()):
        y = rl.nn.functional.linear(x, w).sum()
        with rl.no_grad():
            w.set_(*source)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
        w = rl.ones(2, 2, requires_grad=True)

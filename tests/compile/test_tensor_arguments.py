"""Tensors as arguments: what Python asks of them is a condition of the program; what is written to them has its history."""

from contextlib import nullcontext

import pytest

import rushlight as torch
from rushlight import nn


def variants():
    """Tensors of one shape and type that differ in what may be asked of them."""
    for _ in range(4):
        yield torch.ones(2)
    for _ in range(3):
        yield torch.ones(2, requires_grad=True)
    yield torch.ones(2, requires_grad=True) * 1
    yield torch.ones(2, requires_grad=True).exp()
    with_gradient = torch.ones(2, requires_grad=True)
    with_gradient.grad = torch.ones(2)
    yield with_gradient
    retaining = torch.ones(2, requires_grad=True) * 1
    retaining.retain_grad()
    yield retaining
    for tag in (1, 2, (1, "a"), (1, "b")):
        tagged = torch.ones(2)
        tagged.tag = tag
        yield tagged
    with torch.inference_mode():
        made = torch.ones(2)
    yield made
    yield torch.ones(4)[:2]
    yield torch.ones(4)[2:]
    yield torch.ones(2)


QUESTIONS = {
    "is_leaf": lambda x: x.is_leaf,
    "a name that is computed": lambda x: getattr(x, "_".join(["is", "leaf"])),
    "an attribute": lambda x: getattr(x, "tag", None),
    "whether there is an attribute": lambda x: hasattr(x, "tag"),
    "all attributes": lambda x: sorted(x.__dict__),
    "grad_fn": lambda x: x.grad_fn is None,
    "the name of grad_fn": lambda x: None if x.grad_fn is None else x.grad_fn.name(),
    "grad": lambda x: None if x.requires_grad and not x.is_leaf else x.grad is None,
    "retains_grad": lambda x: x.retains_grad,
    "is_inference": lambda x: x.is_inference(),
    "_base": lambda x: x._base is None,
    "storage_offset": lambda x: x.storage_offset(),
    "the size of its memory": lambda x: x.untyped_storage().nbytes(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_that_changes(question, monkeypatch):
    ask = QUESTIONS[question]
    monkeypatch.setattr(torch._dynamo.config, "recompile_limit", 64)

    def f(x):
        return x.detach() * 2 + sum(map(ord, str(ask(x))))

    compiled = torch.compile(f, fullgraph=True)
    for x in (*variants(), *variants()):
        assert compiled(x).tolist() == f(x).tolist()


def test_a_question_that_is_an_argument(monkeypatch):
    def f(x, name):
        answer = getattr(x, name)
        return x.detach() * 2 + (answer() if callable(answer) else int(answer))

    monkeypatch.setattr(torch._dynamo.config, "recompile_limit", 64)
    compiled = torch.compile(f, fullgraph=True)
    for x in (*variants(), *variants()):
        for name in ("is_leaf", "retains_grad", "storage_offset"):
            assert compiled(x, name).tolist() == f(x, name).tolist()


def test_batches_at_other_places_in_memory_need_no_other_program():
    data, model = torch.randn(40, 3), nn.Linear(3, 1)

    def f(x):
        return getattr(model, "forw" + "ard")(x).sum()

    compiled = torch.compile(f, fullgraph=True)
    for i in range(10):
        torch.testing.assert_close(compiled(data[4 * i : 4 * i + 4]), f(data[4 * i : 4 * i + 4]))


def test_an_attribute_whose_contents_may_change():
    def f(x):
        return x * len(x.parts)

    compiled = torch.compile(f)
    for n in range(1, 6):
        x = torch.ones(2)
        x.parts = list(range(n))
        with pytest.warns(UserWarning, match="attribute 'parts'") if n == 2 else nullcontext():
            assert compiled(x).tolist() == [n, n]


def doubled(x):
    return x.mul_(2).sum()


def doubled_and_squashed(x):
    return (x.mul_(2) * 3).tanh().sum()


def written_with_a_result(x):
    y = x * 3
    x.copy_(y)
    x[0] = 0
    return y.pow(2).sum() + x.sum()


def written_and_viewed(x):
    x.add_(1)
    return x.view(-1).pow(2).sum(), x.t()


def rectified():
    torch.manual_seed(0)
    return nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 3))


@pytest.mark.parametrize("f", [doubled, doubled_and_squashed, written_with_a_result, written_and_viewed, rectified])
def test_a_write_to_an_argument_that_has_a_history(f):
    if f is rectified:
        f = f()

    def gradient(function, after):
        a = torch.tensor([[0.1, -0.2, 0.3], [-0.4, 0.5, -0.6]], requires_grad=True)
        x = a * 1
        before = x[1:]
        made = function(x)
        total = sum(t.sum() for t in made) if isinstance(made, tuple) else made.sum()
        if after:
            total = total + x.sum() + before.pow(2).sum()
        total.backward()
        return a.grad, x.detach(), x.grad_fn is not None

    compiled = torch.compile(f, fullgraph=True)
    for i in range(6):
        for expected, found in zip(gradient(f, i % 2), gradient(compiled, i % 2), strict=True):
            torch.testing.assert_close(found, expected)


def test_a_history_that_an_argument_gets_or_loses():
    weight = torch.ones(2, requires_grad=True)

    def gets(x):
        x.mul_(weight * 3)

    def wants(x):
        x.requires_grad_()
        return x * 2

    def loses(x):
        x.detach_()
        return x * 2

    for f in (gets, wants, loses):
        compiled = torch.compile(f, fullgraph=True)
        for _ in range(5):
            x = torch.ones(2) if f is not loses else weight * 1
            y = compiled(x)
            assert x.requires_grad is (f is not loses)
            assert x.is_leaf is (f is not gets)
            if f is not loses:
                weight.grad = None
                (x if y is None else y).sum().backward()
                assert (weight.grad if f is gets else x.grad).tolist() == [3.0 if f is gets else 2.0] * 2


def test_a_view_made_without_gradients_cannot_be_written():
    def f(x):
        with torch.no_grad():
            return x.view(-1)

    compiled = torch.compile(f, fullgraph=True)
    for _ in range(5):
        flat = compiled(torch.ones(2, 3, requires_grad=True) * 1)
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            flat.mul_(2)


def test_memory_and_gradients_that_change_places():
    def swap_data(x, y):
        x.data, y.data = y.data, x.data
        return x.sum() - y.sum()

    def swap_gradients(x, y):
        x.grad, y.grad = y.grad, x.grad
        return x + y

    def pass_on(x, y):
        y.grad = x.grad
        x.grad = x.detach() * 4
        return x + y

    for f in (swap_data, swap_gradients, pass_on):
        compiled = torch.compile(f, fullgraph=True)
        for i in range(6):
            seen = []
            for function in (f, compiled):
                x, y = torch.full((3,), 1.0 + i), torch.full((3,), 2.0 + i)
                x.grad, y.grad = x * 10, y * 10
                result = function(x, y)
                seen.append([t.tolist() for t in (result, x, y, x.grad, y.grad)])
            assert seen[0] == seen[1], f.__name__

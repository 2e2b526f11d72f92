"""What calls hand to `saved_tensors_hooks`, and in which order; what they keep and refuse to find changed: as torch 2.13."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

RUNNING = torch.zeros(3), torch.ones(3)
CASES = {  # call, sizes of its arguments, what is kept: arguments and results by number
    "atan2": (torch.atan2, ((2, 3), (2, 3)), "i1 i0"),
    "maximum": (torch.maximum, ((2, 3), (2, 3)), "i1 i0"),
    "hypot": (torch.hypot, ((2, 3), (2, 3)), "i1 i0 o0"),
    "mm": (torch.mm, ((2, 3), (3, 4)), "i1 i0"),
    "mv": (torch.mv, ((2, 3), (3,)), "i0 i1"),
    "dot": (torch.dot, ((3,), (3,)), "i0 i1"),
    "addmm": (torch.addmm, ((4,), (2, 3), (3, 4)), "i1 i2"),
    "baddbmm": (torch.baddbmm, ((2, 2, 4), (2, 2, 3), (2, 3, 4)), "i1 i2"),
    "linear": (F.linear, ((2, 3), (4, 3), (4,)), "i0 i1"),
    "conv1d": (F.conv1d, ((1, 2, 5), (3, 2, 2)), "i0 i1"),
    "batch_norm": (lambda x, w: F.batch_norm(x, *RUNNING, w), ((2, 3), (3,)), "i0 ? ? i1 ? ?"),
    "cdist": (torch.cdist, ((2, 3), (4, 3)), "i0 i1 o0"),
    "sdpa": (F.scaled_dot_product_attention, ((1, 1, 3, 2),) * 3, "i1 i0 i2 o0"),
    "svd": (torch.linalg.svd, ((2, 2),), "o1 o0 o2"),
    "aminmax": (lambda x: torch.aminmax(x, dim=0), ((2, 3),), "i0 o1 o0"),
    "lerp": (torch.lerp, ((3,), (3,), (3,)), "i1 i0 i2"),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), ((1, 2, 4, 4),), "i0 ?"),
    "masked_select": (lambda x: x.masked_select(torch.tensor([True, False])), ((2,),), "? i0"),
}


@pytest.mark.parametrize("name", CASES)
def test_order(name):
    call, sizes, expected = CASES[name]
    torch.manual_seed(0)
    inputs, kept = [torch.rand(s).requires_grad_() for s in sizes], []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        out = call(*inputs)
    outs = out if isinstance(out, tuple) else (out,)

    def number(t):
        for letter, known in (("i", inputs), ("o", outs)):
            for k, other in enumerate(known):
                if t.shape == other.shape and t.dtype == other.dtype and t.equal(other):
                    return f"{letter}{k}"
        return "?"

    assert " ".join(map(number, kept)) == expected
    sum(o.sum() for o in outs).backward()
    assert all(x.grad is not None for x in inputs)


def test_names_of_kept_results():
    x = torch.rand(3, 3, requires_grad=True)
    assert x.max(0)[0].grad_fn._saved_indices.tolist() == x.max(0)[1].tolist()
    s = torch.linalg.svd(x)
    assert s[1].grad_fn._saved_S.equal(s[1]) and not hasattr(s[1].grad_fn, "_saved_result0")
    assert x.exp().grad_fn._saved_result.equal(x.exp())


@pytest.mark.parametrize("call", [torch.addcmul, torch.addcdiv])
def test_what_no_wanted_gradient_reads_may_change(call):
    start = torch.zeros(3, requires_grad=True)
    first = torch.ones(3)
    y = call(start, first, torch.ones(3))
    first.fill_(7)
    y.sum().backward()
    assert start.grad.tolist() == [1.0] * 3
    start, end = torch.zeros(3, requires_grad=True), torch.ones(3)
    y = torch.lerp(start, end, torch.full((3,), 0.25))
    end.fill_(7)
    y.sum().backward()
    assert start.grad.tolist() == [0.75] * 3


@pytest.mark.parametrize("call", [lambda x: torch.fft.rfft(x).abs(), lambda x: x.masked_select(x.detach() > 0)])
def test_inputs_whose_size_is_read_are_kept(call):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    z = call(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    z = torch.fft.fft(x).real.sum()
    z.backward()
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "relu", "sqrt"])
def test_hooks_see_results_with_their_history(name):
    seen, opened = [], []

    def pack(t):
        seen.append((t.requires_grad, t.is_leaf))
        return t

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: opened.append(t) or t):
        y = getattr(x, name)()
    assert seen[-1] == (True, False)
    y.sum().backward()
    assert opened[-1].tolist() == y.tolist() and x.grad is not None


def test_a_result_that_hooks_keep_is_freed_with_its_graph():
    import gc
    import weakref

    x = torch.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x.exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_hooks_see_statistics_without_history():
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.requires_grad) or t, lambda t: t):
        F.batch_norm(torch.ones(2, 3, requires_grad=True), None, None, training=True)
    assert seen == [True, False, False]

"""A whole training's parts on `mirror`, whose memory NumPy cannot reach: right, and without a copy that nobody asked for."""

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn, optim
from rushlight.core.device import devices
from rushlight.testing.devices import check_names
from rushlight.utils.data import DataLoader, TensorDataset

from .mirror import copies, open_mirror


def on_mirror(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64).to("mirror")


def close(a, b, tolerance=1e-9):
    a, b = (t.detach().cpu().numpy() for t in (a, b))
    np.testing.assert_allclose(a, b, tolerance, tolerance)


def test_where_a_tensor_is():
    t = torch.zeros(2, 3, device="mirror")
    assert str(t.device) == "mirror:0" and t.get_device() == 0 and not t.is_cpu and not t.is_meta
    assert torch.zeros(1, device="mirror:1").device == torch.device("mirror", 1)
    assert repr(t) == "tensor([[0., 0., 0.],\n        [0., 0., 0.]], device='mirror:0')"
    assert t.type() == "torch.mirror.FloatTensor"
    with pytest.raises(RuntimeError, match="there is none with index 7"):
        torch.zeros(1, device="mirror:7")
    with pytest.raises(TypeError, match="can't convert mirror:0 device type tensor to numpy"):
        t.numpy()
    with pytest.raises(TypeError, match="can't convert mirror:0 device type tensor to numpy"):
        np.add(t, 1)


def test_copies_are_those_asked_for():
    c = torch.arange(6.0).reshape(2, 3)
    with copies(up=1):
        t = c.to("mirror")
    with copies():
        assert t.to("mirror") is t and t.to(torch.float32) is t
        u = (t * 2 + 1).t().contiguous()
        u[0].mul_(3)
    with copies(down=1):
        assert u.cpu().tolist() == [[3.0, 21.0], [3.0, 9.0], [5.0, 11.0]]
    with copies(down=1):
        assert u.sum().item() == 52.0
    with copies(down=1):
        assert bool((u > 0).all())
    with copies(up=1):
        u.copy_(torch.zeros(3, 2))
    with copies(down=1):
        c.copy_(t)
    with copies(down=1), copies(up=1, index=1):
        assert t.to("mirror:1").device.index == 1


def test_views_share_memory():
    t = torch.zeros(4, 4, device="mirror")
    with copies():
        v = t[1:, 1:].t()
        v += 1
        t.diagonal().fill_(7)
    assert t.tolist() == [[7, 0, 0, 0], [0, 7, 1, 1], [0, 1, 7, 1], [0, 1, 1, 7]]
    assert (v.storage_offset(), v.stride(), v._version) == (5, (1, 4), t._version)
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.zeros(1, device="mirror").expand(3).add_(1)


def test_mixing_devices_raises():
    t, c, other = torch.ones(2, 3, device="mirror"), torch.ones(2, 3), torch.ones(2, 3, device="mirror:1")
    calls = (
        lambda a, b: a + b, lambda a, b: a.add_(b), lambda a, b: a @ b.t(), lambda a, b: torch.cat([a, b]),
        lambda a, b: torch.where(a > 0, a, b), nn.functional.linear,
        lambda a, b: nn.functional.conv1d(a[None], b[None]),
    )  # fmt: skip
    for a, b, names in ((t, c, "mirror:0 and cpu"), (c, t, "mirror:0 and cpu"), (t, other, "mirror:0 and mirror:1")):
        for call in calls:
            with pytest.raises(RuntimeError, match=f"at least two devices, {names}"):
                call(a, b)
    assert c.tolist() == t.tolist() == other.tolist() == [[1.0] * 3] * 2
    assert (t * torch.tensor(2.0)).device.type == "mirror"  # a number
    assert t[torch.tensor([0, 1])].shape == (2, 3)


def test_gradients_in_float32():
    """In the type for which the CPU has kernels of its own, which must not see this memory."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(64, 5))  # fmt: skip
    there, y = copy.deepcopy(net).to("mirror"), x.to("mirror")
    net(x).log_softmax(1).sum().backward()
    with copies():
        there(y).log_softmax(1).sum().backward()
    for p, q in zip(net.parameters(), there.parameters(), strict=True):
        assert q.grad.device.type == "mirror"
        close(p.grad, q.grad, 1e-3)


def test_graphs():
    w = on_mirror(3, 3).requires_grad_()
    with copies():
        y = (w @ w).sin()
        y[0].mul_(2)
        (g,) = torch.autograd.grad(y.sum(), w, create_graph=True)
        g.pow(2).sum().backward()
        w.grad.zero_()
        y.detach().sum()
    h = []
    w.register_hook(lambda g: h.append(g.device))
    (w * 2).sum().backward()
    assert [str(d) for d in h] == ["mirror:0"]
    with pytest.raises(RuntimeError, match="second time"):
        z = (w * w).sum()
        z.backward()
        z.backward()

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    v = w.detach().clone().requires_grad_()
    with copies():
        Square.apply(v).sum().backward()
    close(v.grad, 2 * v)


def _modules():
    return {
        "mlp": (nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Dropout(0.3), nn.Linear(8, 4)), (5, 6)),
        "conv": (
            nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.SiLU(), nn.AdaptiveAvgPool2d(2)),
            (2, 3, 9, 9),
        ),
        "transposed": (nn.ConvTranspose2d(2, 3, 3, 2, 1, 1), (1, 2, 4, 4)),
        "norms": (nn.Sequential(nn.LayerNorm(6), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4)), (3, 4, 6)),
        "lstm": (nn.LSTM(4, 5, 2, bidirectional=True), (3, 2, 4)),
        "gru": (nn.GRU(4, 5, batch_first=True), (2, 3, 4)),
        "transformer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 3, 8)),
        "attention": (nn.MultiheadAttention(8, 2, batch_first=True), None),
        "pools": (nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Upsample(scale_factor=2)), (1, 2, 8, 8)),
        "embedding": (nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2)), "indices"),
    }


@pytest.mark.parametrize("name", _modules())
def test_modules(name):
    torch.manual_seed(1)
    net, shape = _modules()[name]
    net = net.double()
    x = torch.randint(0, 10, (3, 5)) if shape == "indices" else torch.randn(*(shape or (2, 3, 8)), dtype=torch.float64)
    there, y = copy.deepcopy(net).to("mirror"), x.to("mirror")
    results = []
    for m, given in ((net, x), (there, y)):
        torch.manual_seed(2)  # seeds the device's stream as well
        with copies():
            out = m(given, given, given) if name == "attention" else m(given)
            out = out[0] if isinstance(out, tuple) else out
            if out.requires_grad:
                out.sin().sum().backward()
        results.append(out)
    close(*results)
    for p, q in zip(net.parameters(), there.parameters(), strict=True):
        if p.grad is not None:
            close(p.grad, q.grad)
    for p, q in zip(net.buffers(), there.buffers(), strict=True):
        close(p, q)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, "Adam": {"amsgrad": True}, "AdamW": {}, "NAdam": {},
    "RAdam": {}, "Adamax": {}, "Adagrad": {}, "Adadelta": {}, "RMSprop": {"momentum": 0.5, "centered": True}, "Rprop": {},
    "ASGD": {}, "Adafactor": {}, "LBFGS": {"max_iter": 3},
}  # fmt: skip


def train(net, x, target, optimizer):
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), target)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        return loss

    for _ in range(15):
        optimizer.step(closure)
        schedule.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    """Fifteen steps: also what is put together after a few that are alike has to leave this device alone."""
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    there = copy.deepcopy(net).to("mirror")
    x, target = torch.randn(8, 3, dtype=torch.float64), torch.randn(8, 2, dtype=torch.float64)
    for m, a, b in ((net, x, target), (there, x.to("mirror"), target.to("mirror"))):
        with copies(down=None if name in ("Adafactor", "LBFGS") else 0):  # torch's look at norms and losses, too
            train(m, a, b, getattr(optim, name)(m.parameters(), lr=0.01, **OPTIMIZERS[name]))
    for p, q in zip(net.parameters(), there.parameters(), strict=True):
        assert q.device.type == "mirror"
        close(p, q, 1e-7 if name == "LBFGS" else 1e-9)  # whose steps a sum in another order moves


def test_loader_pins_and_moves():
    data = TensorDataset(torch.arange(10.0), torch.arange(10))
    seen = []
    torch.zeros(1, device="mirror")  # batches are pinned for a device in use
    for x, y in DataLoader(data, batch_size=4, pin_memory=True):
        assert x.is_pinned() and x.is_cpu
        with copies(up=2):
            x, y = x.to("mirror", non_blocking=True), y.to("mirror", non_blocking=True)
        seen.append((x * y).sum())
    with copies():
        total = torch.stack(seen).sum()
    assert total.item() == sum(i * i for i in range(10))


def test_files():
    net = nn.Linear(3, 2).to("mirror")
    state = {"net": net.state_dict(), "tied": [net.weight, net.weight[0]]}
    file = io.BytesIO()
    torch.save(state, file)
    for where, expected in ((None, "mirror:0"), ("cpu", "cpu"), ("mirror:1", "mirror:1"), ({"mirror:0": "cpu"}, "cpu"),
                            (lambda storage, location: storage.cpu(), "cpu"), ("meta", "meta")):  # fmt: skip
        file.seek(0)
        loaded = torch.load(file, map_location=where, weights_only=True)
        weight, tied = loaded["net"]["weight"], loaded["tied"]
        assert str(weight.device) == expected
        if expected != "meta":
            close(weight, net.weight)
            tied[1].detach().zero_()
            assert tied[0][0].tolist() == [0.0] * 3  # still one memory
    for again in (pickle.loads(pickle.dumps(net.weight)), copy.deepcopy(net).weight):
        assert str(again.device) == "mirror:0" and again.requires_grad
        close(again, net.weight)


def test_state_dicts_move_values():
    net, there = nn.Linear(3, 2), nn.Linear(3, 2, device="mirror")
    there.load_state_dict(net.state_dict())
    assert there.weight.device.type == "mirror"
    close(there.weight, net.weight)
    net.load_state_dict(there.state_dict())
    assert net.weight.is_cpu


def test_random_streams():
    torch.manual_seed(5)
    a, here = torch.rand(4, device="mirror"), torch.rand(4)
    torch.manual_seed(5)
    with copies():
        b = torch.rand(4, device="mirror")
        torch.randn(3, device="mirror"), torch.randperm(4, device="mirror"), torch.bernoulli(b)
        nn.functional.dropout(b, 0.5)
    assert torch.equal(a.cpu(), b.cpu())
    assert torch.equal(here, torch.rand(4))  # the device drew from a stream of its own
    with torch.device("mirror"), copies(up=1):
        layer = nn.Linear(2, 2)
        assert torch.tensor([1.0]).device.type == layer.weight.device.type == "mirror"


def test_nothing_is_left_behind():
    import gc

    m = open_mirror(0)
    gc.collect()
    before = len(m._memory.blocks)
    x = on_mirror(3, 3).requires_grad_()
    (x @ x).sum().backward()
    del x
    gc.collect()
    assert len(m._memory.blocks) == before


def test_compiled_functions_run_plainly():
    step = torch.compile(lambda x: (x * 2).sum(0))
    with pytest.warns(UserWarning, match="uses a tensor on mirror:0; only the CPU's are compiled"):
        for _ in range(4):
            assert step(torch.ones(3, 2, device="mirror")).tolist() == [6.0, 6.0]


def test_another_package_adds_a_device(monkeypatch):
    from importlib import metadata

    from rushlight.core.device import devices

    point = metadata.EntryPoint("looking", f"{__package__}.mirror:open_mirror", "rushlight.devices")
    monkeypatch.setattr(metadata, "entry_points", lambda **named: [point] if named["name"] == "looking" else [])
    try:
        assert torch.zeros(2, device="looking").device.type == "mirror"
    finally:
        devices._openers.pop("looking", None)
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.zeros(2, device="nothere")


def test_a_generator_keeps_its_device_in_copies():
    generator = torch.Generator("mirror").manual_seed(3)
    for twin in (pickle.loads(pickle.dumps(generator)), generator.clone_state()):
        assert twin.device == generator.device == torch.device("mirror", 0)
        assert torch.equal(torch.as_tensor(twin.get_state()), torch.as_tensor(generator.get_state()))


def test_names_of_no_operator_are_found(monkeypatch):
    check_names("mirror:0")
    monkeypatch.setattr(type(open_mirror(0)), "lacks", ("svd", "cumsum"))
    monkeypatch.setitem(open_mirror(0).kernels, "matmull", None)
    with pytest.raises(AssertionError, match=r"no operators: matmull, svd; near: .*linalg_svd"):
        check_names("mirror:0")


def test_an_operator_that_a_device_lacks_raises_and_names_it(monkeypatch):
    monkeypatch.setattr(type(open_mirror(0)), "lacks", ("sin",))
    with pytest.raises(NotImplementedError, match="sin is not implemented for tensors on mirror:0"):
        torch.ones(2, device="mirror").sin()


@pytest.mark.parametrize("name", ["npu2", "a:b", ""])
def test_names_that_cannot_be_a_type_are_refused(name):
    with pytest.raises(ValueError, match="letters"):
        devices.register(name, open_mirror)


def test_autocast_says_that_it_does_not_serve_the_device():
    assert not torch.is_autocast_enabled("mirror") and not torch.amp.is_autocast_available("mirror")
    with pytest.raises(RuntimeError, match="autocast has no lists of operators for the device mirror"):
        torch.autocast("mirror")
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, cuda, .* at start of device string: miror"):
        torch.autocast("miror")

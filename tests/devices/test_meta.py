"""`meta`: tensors with shapes and no data, as programs use them. What torch 2.13 does in each case."""

import copy
import io
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn


def meta(*shape, **options):
    return torch.empty(*shape, device="meta", **options)


def test_a_tensor_tells_where_it_is():
    t = meta(2, 3)
    assert (t.device, t.is_meta, t.is_cpu, t.get_device()) == (torch.device("meta"), True, False, -1)
    assert (t.stride(), t.numel(), t.nbytes, t.data_ptr(), t.storage_offset()) == ((3, 1), 6, 24, 0, 0)
    assert repr(t) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(nn.Parameter(t)).endswith("tensor(..., device='meta', size=(2, 3), requires_grad=True)")
    assert t.type() == "torch.meta.FloatTensor"
    assert t[1, 1:].storage_offset() == 4
    assert t.t().stride() == (1, 3)
    storage = t.untyped_storage()
    assert (storage.device, storage.nbytes(), storage.data_ptr()) == (torch.device("meta"), 24, 0)


def test_no_memory_is_taken():
    t = torch.zeros(1 << 20, 1 << 18, device="meta", dtype=torch.float64)  # 2 TiB
    assert t.nbytes == 1 << 41
    assert (t @ t.t()).shape == (1 << 20, 1 << 20)
    assert torch.empty(80 << 40, dtype=torch.uint8, device="meta").nbytes == 80 << 40  # more than half of all addresses
    assert (t.exp() * 2 + t.sum(0)).mean(1).shape == (1 << 20,)
    assert nn.functional.linear(t.float(), meta(512, 1 << 18)).shape == (1 << 20, 512)


F = nn.functional
_IMAGES, _SCORES = (256, 3, 16384, 16384), (8, 32, 131072, 128)  # 824 and 17 GB in float32

LARGE = {
    "conv2d": (lambda x: nn.Conv2d(3, 8, 3, 2, 1, device="meta")(x), _IMAGES, (256, 8, 8192, 8192)),
    "conv_transpose2d": (lambda x: nn.ConvTranspose2d(3, 2, 2, 2, device="meta")(x), _IMAGES, (256, 2, 32768, 32768)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1], _IMAGES, (256, 3, 8192, 8192)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), _IMAGES, (256, 3, 8192, 8192)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 7), _IMAGES, (256, 3, 7, 7)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), _IMAGES, (256, 3, 32768, 32768)),
    "pad": (lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"), _IMAGES, (256, 3, 16388, 16386)),
    "unfold": (lambda x: F.unfold(x[:2], 3, stride=3), _IMAGES, (2, 27, 5461 * 5461)),
    "dropout": (F.dropout, _IMAGES, _IMAGES),
    "dropout2d": (F.dropout2d, _IMAGES, _IMAGES),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, training=True), _IMAGES, _IMAGES),
    "rrelu": (lambda x: F.rrelu(x, training=True), _IMAGES, _IMAGES),
    "gumbel_softmax": (lambda x: F.gumbel_softmax(x, hard=True), _SCORES, _SCORES),
    "bernoulli": (torch.bernoulli, _IMAGES, _IMAGES),
    "normal": (lambda x: torch.normal(x, x[:1]), _IMAGES, _IMAGES),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), _SCORES, _SCORES),
    "softmax": (lambda x: (x @ x.mT).softmax(-1), _SCORES, (8, 32, 131072, 131072)),
    "layer_norm": (nn.LayerNorm((131072, 128), device="meta"), _SCORES, _SCORES),
    "std": (torch.std, _SCORES, ()),
    "erf": (torch.erf, _SCORES, _SCORES),
    "argmax": (lambda x: x.argmax(-1, keepdim=True), _SCORES, (8, 32, 131072, 1)),
    "max": (lambda x: x.max(2).indices, _SCORES, (8, 32, 128)),
    "sort": (lambda x: x.sort(1, descending=True).indices, _SCORES, _SCORES),
    "topk": (lambda x: x.topk(5).values, _SCORES, (8, 32, 131072, 5)),
    "cumsum": (lambda x: x.cumsum(2), _SCORES, _SCORES),
    "contiguous": (lambda x: x.transpose(1, 2).contiguous(), _SCORES, (8, 131072, 32, 128)),
    "reshape": (lambda x: x.transpose(1, 2).reshape(-1, 128), _SCORES, (1 << 25, 128)),
    "repeat": (lambda x: x.repeat(2, 1, 1, 1), _SCORES, (16, 32, 131072, 128)),
    "index": (lambda x: x[:, :, meta(77, 3, dtype=torch.long)], _SCORES, (8, 32, 77, 3, 128)),
    "index of two": (lambda x: x[meta(7, 1, dtype=torch.long), :, meta(9, dtype=torch.long)], _SCORES, (7, 9, 32, 128)),
    "gather": (lambda x: x.gather(2, x.long()), _SCORES, _SCORES),
    "tril": (torch.tril, _SCORES, _SCORES),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_are_neither_computed_nor_stored(name):
    run, shape, expected = LARGE[name]
    result, peak = _with_peak(lambda: run(meta(*shape)))
    assert tuple(result.shape) == expected
    assert peak < 1 << 24


def _with_peak(run):
    """What `run` returns, and the most bytes that Python and NumPy held meanwhile."""
    tracemalloc.start()
    try:
        return run(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_network_trains_without_memory():
    net = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Dropout(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    ).to("meta")  # fmt: skip
    net(meta(*_IMAGES)).sum().backward()
    assert net[0].weight.grad.shape == (64, 3, 7, 7)
    layer = nn.TransformerEncoderLayer(8192, 64, 32768, device="meta", batch_first=True)
    layer(meta(64, 8192, 8192)).sum().backward()
    assert layer.linear1.weight.grad.shape == (32768, 8192)


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (lambda t: t.item(), RuntimeError, "a Tensor with 6 elements"),
        (lambda t: t.sum().item(), RuntimeError, r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda t: bool(t.sum()), RuntimeError, r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda t: float(t[0, 0]), RuntimeError, r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda t: t.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda t: t.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda t: t.to("cpu"), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda t: torch.ones(2, 3).copy_(t), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda t: t.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda t: np.asarray(t), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda t: t.nonzero(), NotImplementedError, "aten::nonzero"),
        (lambda t: t[t > 0], NotImplementedError, "aten::index"),
        (lambda t: t.unique(), NotImplementedError, "aten::unique2"),
        (lambda t: torch.equal(t, t), NotImplementedError, "aten::"),
        (lambda t: t.__dlpack__(), BufferError, "Cannot pack tensors on meta"),
        (lambda t: t.share_memory_(), RuntimeError, "only available on CPU"),
        (lambda t: torch.Generator("meta"), RuntimeError, "not an accelerator"),
    ],
)
def test_what_needs_data_raises(read, error, message):
    with pytest.raises(error, match=message):
        read(meta(2, 3))


def test_mixing_devices_raises():
    t, c = meta(2, 3), torch.ones(2, 3)
    calls = [
        lambda: t + c, lambda: c + t, lambda: c.add_(t), lambda: t @ c.t(), lambda: c @ t.t(), lambda: torch.cat([t, c]),
        lambda: torch.where(t > 0, t, c), lambda: nn.functional.linear(c, meta(4, 3)), lambda: c[meta(2, dtype=torch.long)],
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="at least two devices, meta and cpu"):
            call()
    assert (t + torch.tensor(1.0)).is_meta  # a number
    assert t[torch.tensor([0, 1])].shape == (2, 3)  # indices may be on the CPU
    assert c.tolist() == [[1.0] * 3] * 2


def test_where_new_tensors_go():
    with torch.device("meta"):
        made = [
            torch.zeros(2), torch.ones(2), torch.empty(2), torch.full((2,), 1.5), torch.rand(2), torch.randn(2),
            torch.randint(3, (2,)), torch.randperm(2), torch.arange(2), torch.linspace(0, 1, 2), torch.eye(2),
            torch.tensor([1, 2]), torch.as_tensor([1.0, 2.0]), torch.normal(0.0, 1.0, (2,)), torch.hann_window(4),
            torch.empty_strided((2,), (1,)), torch.tril_indices(2, 2), torch.scalar_tensor(1.0),
        ]  # fmt: skip
        assert all(t.is_meta for t in made)
        assert torch.zeros(2, device="cpu").is_cpu
        assert torch.from_numpy(np.ones(2)).is_cpu
        with torch.device("cpu"):
            assert torch.zeros(2).is_cpu
        assert torch.get_default_device() == torch.device("meta")
        layer = nn.Linear(2, 3)
    assert torch.zeros(2).is_cpu
    assert layer.weight.is_meta and layer.weight.requires_grad

    @torch.device("meta")
    def make():
        return torch.zeros(2)

    assert make().is_meta
    torch.set_default_device("meta")
    try:
        assert torch.rand(2).is_meta
    finally:
        torch.set_default_device(None)
    assert torch.rand(2).is_cpu


def test_draws_leave_the_random_stream_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    t = torch.rand(4, device="meta").normal_().uniform_()
    nn.init.kaiming_uniform_(meta(3, 3))
    nn.functional.dropout(t, 0.5)
    torch.bernoulli(t), torch.multinomial(t, 2), torch.randn_like(t)
    assert torch.equal(torch.rand(3), expected)


def test_modules_without_values():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, device="meta"), nn.BatchNorm2d(8, device="meta"), nn.ReLU(), nn.Flatten(),
                        nn.Linear(8 * 30 * 30, 10, device="meta"))  # fmt: skip
    out = net(meta(4, 3, 32, 32))
    assert (out.shape, out.device.type) == ((4, 10), "meta")
    out.sum().backward()
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in net.parameters())
    for cls in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        cls(net.parameters(), lr=0.1).step()
    with pytest.raises(NotImplementedError, match=r"Please use torch\.nn.Module.to_empty"):
        net.to("cpu")
    assert net.to_empty(device="cpu")[0].weight.is_cpu


def test_skip_init_draws_nothing():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    layer = nn.utils.skip_init(nn.Linear, 5, 2)
    assert layer.weight.is_cpu and layer.weight.shape == (2, 5)
    assert nn.utils.skip_init(nn.Linear, 5, 2, device="meta").weight.is_meta
    assert torch.equal(torch.rand(3), expected)


def test_state_dicts():
    state = nn.Linear(2, 3).state_dict()
    layer = nn.Linear(2, 3, device="meta")
    with pytest.warns(UserWarning, match="copying from a non-meta parameter in the checkpoint"):
        layer.load_state_dict(state)
    assert layer.weight.is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer.load_state_dict(state, assign=True)
    assert layer.weight.is_cpu and torch.equal(layer.weight, state["weight"])


def test_copies_and_files():
    t = meta(2, 3).t().requires_grad_()
    for again in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert (again.is_meta, again.shape, again.stride(), again.requires_grad) == (True, (3, 2), (1, 3), True)
    for plain in (meta(2, 3), meta(2, 3).requires_grad_(), meta(4, 3).t()[1:]):
        again = copy.deepcopy(plain)
        expected = plain.stride() if plain.is_contiguous() else (1, 2)
        assert again.is_meta and again.stride() == expected and again.requires_grad == plain.requires_grad
    file = io.BytesIO()
    torch.save({"a": t, "b": torch.ones(2)}, file)
    for where, expected in ((None, "cpu"), ("cpu", "cpu"), ("meta", "meta")):
        file.seek(0)
        loaded = torch.load(file, map_location=where)
        assert loaded["a"].is_meta and loaded["a"].stride() == (1, 3)  # nothing says what its values were
        assert loaded["b"].device.type == expected


def test_a_file_cannot_ask_for_sizes_that_do_not_exist():
    from rushlight.core.tensor.pickling import rebuild_meta_tensor

    for size, stride in (((1 << 62, 8), (8, 1)), ((-1,), (1,)), ((2,), (1, 1)), (("a",), (1,))):
        with pytest.raises(RuntimeError, match=r"cannot be made|overflow"):
            rebuild_meta_tensor(torch.float32, size, stride, False)


def test_gradients_of_leaves_and_views():
    w = meta(3, 3, requires_grad=True)
    v = w * 2
    v[0].mul_(3)
    loss = (v @ v).relu().sum()
    loss.backward()
    assert w.grad.is_meta
    assert type(v.grad_fn).__name__ == "CopySlices"
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_many_steps_run_without_programs():
    net = nn.Sequential(nn.Linear(4, 8, device="meta"), nn.Tanh(), nn.Linear(8, 1, device="meta"))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x = meta(16, 4)
    for _ in range(12):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    assert all(p.grad.is_meta for p in net.parameters())


def test_a_compiled_function_runs_plainly():
    step = torch.compile(lambda x: (x * 2).sum(0))
    with pytest.warns(UserWarning, match="uses a tensor on meta; only the CPU's are compiled"):
        for _ in range(4):
            assert step(meta(3, 5)).shape == (5,)
    assert step(torch.ones(3, 5)).tolist() == [6.0] * 5


def test_repeats_that_are_not_known_need_the_size_of_the_result():
    x, repeats = torch.ones(2, 3, device="meta"), torch.tensor([1, 2])
    assert x.repeat_interleave(repeats, 0).shape == (3, 3)
    assert x.repeat_interleave(repeats.to("meta"), 0, output_size=3).shape == (3, 3)
    assert torch.repeat_interleave(repeats.to("meta"), output_size=3).device.type == "meta"
    with pytest.raises(RuntimeError, match="cannot repeat_interleave a meta tensor without output_size"):
        x.repeat_interleave(repeats.to("meta"), 0)


META = torch.device("meta")
WITHOUT_DATA = {
    "trunc_normal_": lambda: nn.init.trunc_normal_(meta(3, 2)),
    "embedding with a largest norm": lambda: nn.Embedding(9, 2, max_norm=1.0, device=META)(meta(3, dtype=torch.long)),
    "fractional pooling": lambda: nn.FractionalMaxPool2d(2, output_size=(3, 2))(meta(1, 1, 6, 6))[0, 0],
    "a number at a mask": lambda: put(meta(3, 2), meta(3, dtype=torch.bool), 1.0),
    "a tensor at a mask": lambda: put(meta(3, 2), meta(3, 2) > 0, torch.tensor(2.0)),
    "Rprop": lambda: stepped(torch.optim.Rprop, meta(3, 2)),
}


def put(t, mask, value):
    t[mask] = value
    return t


def stepped(make, t):
    optimizer = make([t.requires_grad_()])
    for _ in range(2):
        t.square().sum().backward()
        optimizer.step()
    return t.detach()


@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_what_only_seems_to_need_data(name):
    made = WITHOUT_DATA[name]()
    assert (made.device, made.shape, made.stride()) == (META, (3, 2), (2, 1))


def test_a_mask_of_another_shape():
    with pytest.raises(IndexError, match=r"The shape of the mask \[1\] at index 0 does not match"):
        meta(3, 2)[meta(1, dtype=torch.bool)] = 1


def test_packed_sequences():
    packed = nn.utils.rnn.pack_padded_sequence(meta(5, 2, 3), [3, 5], enforce_sorted=False)
    assert (packed.data.device, packed.batch_sizes.device) == (META, torch.device("cpu"))
    assert (packed.data.shape, packed.sorted_indices.device) == ((8, 3), META)
    with torch.device("meta"):
        assert nn.LSTM(3, 4)(packed)[0].data.shape == (8, 4)


def test_errors_of_shapes_are_those_of_the_cpu():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(4\)"):
        torch.empty(2, 3, device="meta") + torch.empty(4, device="meta")
    with pytest.raises(NotImplementedError, match=r"aten::equal: "):
        torch.equal(torch.empty(2, device="meta"), torch.empty(2, device="meta"))


def test_format_of_a_number_without_data():
    assert f"{torch.empty(2, device='meta').mean()}" == "tensor(..., device='meta', size=())"

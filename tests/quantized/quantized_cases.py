"""Cases of dynamic quantization, run with Rushlight and, by tests/golden/make_quantized.py, with torch."""

import warnings

import numpy as np

SIZES = [
    (1, 1, 1),
    (2, 3, 5),
    (4, 16, 8),
    (3, 17, 33),
    (8, 64, 10),
    (1, 100, 7),
    (5, 300, 21),
    (40, 24, 3),
    (2, 1500, 6),
]
SCALES = (1e-7, 1e-3, 1.0, 50.0)
LSTMS = [
    {}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 3, "bidirectional": True, "batch_first": True},
    {"batch_first": True}, {"num_layers": 2, "dropout": 0.5},
]  # fmt: skip


def tensor(torch, generator, *shape, scale=1.0):
    return torch.from_numpy((generator.standard_normal(shape) * scale).astype(np.float32))


def fill(torch, model, generator):
    """Give a model weights that do not depend on torch's random numbers."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(tensor(torch, generator, *p.shape, scale=0.3))
    return model


def quantized(torch, layer, spec=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", UserWarning)  # torch's, of dropout in one layer and of quantized tensors
        return torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(layer), spec)[0]


def levels(torch):
    """quantize_per_tensor: levels and values, near the middle between two levels, too."""
    g = np.random.default_rng(0)
    out = {}
    for name, low, high in (("qint8", -128, 127), ("quint8", 0, 255), ("qint32", -1000, 1000)):
        for i in range(8):
            scale, zero = float(g.uniform(1e-3, 0.1)), int(g.integers(low, high))
            x = ((g.integers(-300, 300, 60) + 0.5) * float(np.float32(scale))).astype(np.float32)
            x = np.nextafter(x, np.float32(np.inf) * g.choice([-1, 1], 60).astype(np.float32)) if i % 2 else x
            x = np.concatenate([x, np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 0, -0.0], np.float32)])
            t = torch.quantize_per_tensor(torch.from_numpy(x), scale, zero, getattr(torch, name))
            out[f"levels {name} {i} int_repr"] = t.int_repr().numpy()
            out[f"levels {name} {i} values"] = t.dequantize().numpy()
    return out


def linears(torch):
    """Outputs of quantized linear layers over sizes, scales of the input, and ranges on one side of zero."""
    g, out = np.random.default_rng(1), {}
    for n, k, m in SIZES:
        for bias in (True, False):
            q = quantized(torch, fill(torch, torch.nn.Linear(k, m, bias=bias), g), {torch.nn.Linear})
            out[f"linear {k} {m} {bias} weight"] = q.weight().int_repr().numpy()
            out[f"linear {k} {m} {bias} scale"] = np.array(q.weight().q_scale())
            for scale in SCALES:
                out[f"linear {n} {k} {m} {bias} {scale}"] = q(tensor(torch, g, n, k, scale=scale)).numpy()
            x = tensor(torch, g, 2, n, k)
            out[f"linear {n} {k} {m} {bias} positive"] = q(x.abs()).numpy()
            out[f"linear {n} {k} {m} {bias} negative"] = q(-x.abs() - 1).numpy()
            out[f"linear {n} {k} {m} {bias} zeros"] = q(x * 0).numpy()
            out[f"linear {n} {k} {m} {bias} transposed"] = q(x.transpose(0, 1)).numpy()
    return out


def zero_points(torch):
    """A weight whose zero point is not 0, and one with a scale from the affine observer."""
    g, out = np.random.default_rng(2), {}
    for i, zero in enumerate((-100, 3, 127)):
        q = quantized(torch, torch.nn.Linear(40, 9), {torch.nn.Linear})
        w = torch.quantize_per_tensor(tensor(torch, g, 9, 40, scale=0.2), 0.01, zero, torch.qint8)
        q.set_weight_bias(w, tensor(torch, g, 9))
        out[f"zero point {i}"] = q(tensor(torch, g, 6, 40)).numpy()
    observer = torch.ao.quantization.MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    qconfig = torch.ao.quantization.QConfig(torch.ao.quantization.default_dynamic_quant_observer, observer)
    q = quantized(torch, fill(torch, torch.nn.Linear(12, 5), g), {"0": qconfig})
    out["affine weight"] = q.weight().int_repr().numpy()
    out["affine parameters"] = np.array([q.weight().q_scale(), q.weight().q_zero_point()])
    out["affine"] = q(tensor(torch, g, 4, 12)).numpy()
    return out


def recurrent(torch):
    """Outputs and states of quantized LSTMs and GRUs, with and without an initial state, and packed."""
    g, out = np.random.default_rng(3), {}
    for kind in ("LSTM", "GRU"):
        for i, options in enumerate(LSTMS):
            q = quantized(torch, fill(torch, getattr(torch.nn, kind)(6, 5, **options), g))
            x = tensor(torch, g, 4, 3, 6)
            batch = 4 if options.get("batch_first") else 3
            rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
            states = [tensor(torch, g, rows, batch, 5, scale=0.5) for _ in range(2)]
            given = tuple(states) if kind == "LSTM" else states[0]
            out |= flat(f"{kind} {i}", q(x))
            out |= flat(f"{kind} {i} state", q(x, given))
            out |= flat(f"{kind} {i} packed", q(packed(torch, g, options)))
    return out


def packed(torch, g, options):
    x = tensor(torch, g, 3, 5, 6) if options.get("batch_first") else tensor(torch, g, 5, 3, 6)
    return torch.nn.utils.rnn.pack_padded_sequence(
        x, [2, 5, 3], options.get("batch_first", False), enforce_sorted=False
    )


def flat(name, result):
    output, state = result
    data = output if hasattr(output, "numpy") else output.data
    states = state if isinstance(state, tuple) else (state,)
    return {f"{name} output": data.numpy(), **{f"{name} state {i}": s.numpy() for i, s in enumerate(states)}}


def recorded(torch):
    """The results of all cases by name."""
    return {**levels(torch), **linears(torch), **zero_points(torch), **recurrent(torch)}


def texts(torch):
    """Printed forms, names in the state, and messages of errors."""
    found = {}
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 3),
        torch.nn.ReLU(),
        torch.nn.LSTM(3, 4, 2, bidirectional=True),
        torch.nn.GRU(8, 2, dropout=0.0),
    )
    fill(torch, model, np.random.default_rng(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q = torch.ao.quantization.quantize_dynamic(model)
    found["model"], found["weight"], found["packed"] = repr(q), repr(q[0].weight()), repr(q[0]._packed_params)
    found["keys"], found["scale"], found["zero_point"] = list(q.state_dict()), *map(repr, (q[0].scale, q[0].zero_point))
    found["weights"], found["biases"] = list(q[2].get_weight()), list(q[2].get_bias())
    found["training"] = [module.training for module in q.modules() if not type(module).__name__.startswith("Pack")]
    found["bias"] = type(q[0].bias()).__name__
    one = torch.quantize_per_tensor(torch.tensor([1.0, 2.0, -3.4]), 0.1, 10, torch.quint8)
    found["tensor"], found["type"] = repr(one), one.type()
    found["facts"] = [repr(v) for v in (one.q_scale(), one.q_zero_point(), one.qscheme(), one.dtype, one.is_quantized)]
    found["wide"] = repr(torch.quantize_per_tensor(torch.arange(2000.0), 0.5, -3, torch.qint32))
    found["empty"] = repr(torch.quantize_per_tensor(torch.zeros(0, 2), 0.5, 0, torch.qint8))
    found["qconfig"] = repr(torch.ao.quantization.default_dynamic_qconfig.weight())
    for name, call in errors(torch, q).items():
        try:
            call()
        except Exception as e:
            found[f"error {name}"] = [type(e).__name__, str(e)]
        else:
            raise AssertionError(f"{name} does not raise")
    return found


def errors(torch, q):
    linear, lstm, ones = q[0], q[2], torch.ones
    quantize, plain = torch.quantize_per_tensor, torch.nn.Sequential(torch.nn.Linear(2, 2))
    dynamic = torch.ao.nn.quantized.dynamic

    def quietly(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.ao.quantization.quantize_dynamic(*args, **kwargs)

    return {
        "dims": lambda: linear(ones(5)),
        "features": lambda: linear(ones(2, 4)),
        "double": lambda: linear(ones(2, 5).double()),
        "nan": lambda: linear(ones(2, 5) * float("nan")),
        "lstm dims": lambda: lstm(ones(2, 3)),
        "lstm features": lambda: lstm(ones(2, 1, 4)),
        "lstm state": lambda: lstm(ones(2, 1, 3), (torch.zeros(4, 2, 4), torch.zeros(4, 1, 4))),
        "lstm bias": lambda: quietly(torch.nn.Sequential(torch.nn.LSTM(3, 4, bias=False))),
        "no input": lambda: lstm(torch.zeros(0, 2, 3)),
        "linear dtype": lambda: dynamic.Linear(3, 2, dtype=torch.int8),
        "no qconfig": lambda: dynamic.Linear.from_float(torch.nn.Linear(3, 2)),
        "no rnn": lambda: dynamic.LSTM.from_float(torch.nn.Linear(3, 2)),
        "set dtype": lambda: quietly(plain, {torch.nn.Linear}, dtype=torch.int8),
        "default dtype": lambda: quietly(plain, dtype=torch.int8),
        "quantize double": lambda: quantize(ones(3).double(), 0.1, 0, torch.qint8),
        "quantize int8": lambda: quantize(ones(3), 0.1, 0, torch.int8),
        "above": lambda: quantize(ones(3), 0.1, 300, torch.qint8),
        "below": lambda: quantize(ones(3), 0.1, -1, torch.quint8),
        "promotion": lambda: torch.promote_types(torch.qint8, torch.float32),
        "signed": lambda: torch.qint8.is_signed,
        "numpy": lambda: quantize(ones(3), 0.1, 0, torch.qint8).numpy(),
        "tolist": lambda: quantize(ones(3), 0.1, 0, torch.qint8).tolist(),
        "state": lambda: q.load_state_dict({}),
        "qconfig": lambda: torch.ao.quantization.QConfig(torch.nn.ReLU(), None),
        "placeholder": lambda: torch.ao.quantization.PlaceholderObserver().calculate_qparams(),
        "bias length": lambda: linear.set_weight_bias(linear.weight(), ones(4)),
        "bias matrix": lambda: linear.set_weight_bias(linear.weight(), ones(3, 1)),
        "weight type": lambda: linear.set_weight_bias(quantize(ones(3, 5), 0.1, 0, torch.quint8), None),
    }

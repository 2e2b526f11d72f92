"""Write printing.json: arrays, options, and the text torch prints for them.  Run with torch installed.

Every case holds the array (base64 of its bytes under zlib, shape, dtype; bfloat16 as its 16 bits), the print options,
the default dtype, what else the repr is told (grad_fn, requires_grad, prefix), and the text of torch.
"""

import base64
import json
import random
import zlib
from pathlib import Path

import torch

HERE = Path(__file__).parent
nan, inf = float("nan"), float("inf")


def named_cases():
    """(tensor, print options) for each rule of the format, by hand."""
    plain = [
        torch.tensor(3.14159),
        torch.tensor(7),
        torch.tensor(True),
        torch.tensor(1 + 2j),
        torch.tensor([]),
        torch.zeros(0, 3),
        torch.zeros(2, 0, dtype=torch.int64),
        torch.zeros(0, dtype=torch.float64),
        torch.zeros(0, dtype=torch.bool),
        torch.tensor([1.0, 2.0, 3.0]),
        torch.tensor([1.0, inf, -inf, nan]),
        torch.tensor([1.5, inf, -inf, nan]),
        torch.tensor([nan, nan]),
        torch.tensor([0.0, -0.0]),
        torch.tensor([1.0, 1001.0]),
        torch.tensor([1.0, 1000.0]),
        torch.tensor([1e-4, 1e-5]),
        torch.tensor([1.1e8]),
        torch.tensor([1e8, 99999.5]),
        torch.tensor([-1.5, 1e-6, 12345.678]),
        torch.tensor([5e-324, 1e308], dtype=torch.float64),
        torch.tensor([65504.0, 6e-8], dtype=torch.float16),
        torch.tensor([0.1, 3e38], dtype=torch.bfloat16),
        torch.tensor([-128, 127], dtype=torch.int8),
        torch.tensor([0, 255], dtype=torch.uint8),
        torch.tensor([[True, False], [False, True]]),
        torch.tensor([2**63 - 1, -(2**63)]),
        torch.tensor([1 - 1j, nan + 2.5j, complex(3, -0.0)]),
        torch.tensor([1e-9 + 100j, 3 - 4e7j], dtype=torch.complex128),
        torch.arange(27.0).reshape(3, 3, 3),
        torch.arange(16).reshape(2, 2, 2, 2),
        torch.arange(40) * 1000,
        torch.arange(1001),
        torch.zeros(2, 501, dtype=torch.uint8),
        torch.zeros(40, 1, 26, dtype=torch.bool),
        torch.ones(1, 13, dtype=torch.float64),
        torch.full((3,), 1 / 3, dtype=torch.float64),
        torch.full((2, 11), 0.5, dtype=torch.float64),
    ]
    yield from ((tensor, {}) for tensor in plain)
    x = torch.linspace(-3, 3, 24).reshape(4, 6)
    for options in [
        {"precision": 2},
        {"profile": "short"},
        {"threshold": 5},
        {"threshold": 5, "edgeitems": 1},
        {"edgeitems": 0},
        {"threshold": 5, "edgeitems": 0},
        {"linewidth": 30},
        {"sci_mode": True},
        {"sci_mode": False, "precision": 8},
        {"profile": "full", "linewidth": 10},
    ]:
        yield x, options


def random_cases(rng, count):
    floats = [torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16]
    others = [torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64, torch.complex128]
    for _ in range(count):
        shape = [rng.choice([1, 2, 3, 4, 7, 9]) for _ in range(rng.choice([1, 2, 2, 3]))]
        dtype = rng.choice(floats + others)
        x = torch.randn(shape, dtype=torch.float64) * 10 ** rng.uniform(-5, 5)
        if dtype.is_complex:
            x = torch.complex(x, torch.randn(shape, dtype=torch.float64))
        elif not dtype.is_floating_point:
            x = x.clamp(-100, 100).abs()
        elif rng.random() < 0.3:
            x = torch.where(torch.rand(shape) < 0.2, rng.choice([inf, nan, 0.0]), x)
        options = {"threshold": rng.choice([10, 1000]), "linewidth": rng.choice([50, 80])}
        yield x.to(dtype), options


def record(tensor, options, default_dtype, history):
    flat = tensor.contiguous()
    raw = (flat.view(torch.int16) if tensor.dtype is torch.bfloat16 else flat).numpy().tobytes()
    told = {}
    if history and (tensor.is_floating_point() or tensor.is_complex()):
        if history == "leaf":
            tensor, told = tensor.clone().requires_grad_(), {"requires_grad": True}
        elif history == "node":
            tensor, told = tensor.clone().requires_grad_() * 1, {"grad_fn": "MulBackward0"}
        else:
            tensor = torch.nn.Parameter(tensor)
            told = {"requires_grad": True, "prefix": "Parameter containing:\ntensor"}
    torch.set_default_dtype(getattr(torch, default_dtype))
    with torch._tensor_str.printoptions(**options):
        text = repr(tensor)
    torch.set_default_dtype(torch.float32)
    return {
        "data": base64.b64encode(zlib.compress(raw, 9)).decode(),
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "options": options,
        "default_dtype": default_dtype,
        "told": told,
        "text": text,
    }


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    cases = [record(tensor, options, "float32", None) for tensor, options in named_cases()]
    for tensor, options in named_cases():
        cases.append(
            record(tensor, options, rng.choice(["float32", "float64"]), rng.choice(["leaf", "node", "parameter"]))
        )
    for tensor, options in random_cases(rng, 80):
        default_dtype = rng.choice(["float32", "float32", "float64", "bfloat16"])
        cases.append(record(tensor, options, default_dtype, rng.choice([None, "leaf", "node", "parameter"])))
    lines = ",\n".join(json.dumps(case) for case in cases if len(case["data"]) < 20000)
    (HERE / "printing.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()

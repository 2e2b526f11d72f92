"""Evaluation of trained networks: compiled, as it is written, ONNX Runtime, torch. Milliseconds a call.

A call is one batch; of the GPT, 64 tokens one after the other, with a cache of keys and values that is handed on.

Each library has a process of its own, and they take turns (`paired.py`). ONNX Runtime runs what `rushlight.onnx.export`
writes. A variant is called for some seconds before it is timed: a module that evaluates becomes a program after calls that
took as long as making it does.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from .paired import Runner, installed
from .step_networks import resnet18_network

VARIANTS = {"compiled": "rushlight", "unmodified": "rushlight", "onnxruntime": "rushlight", "torch": "torch"}
_INPUTS = 8  # that take turns
_LEAST_S = 0.05  # of a turn


def _mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), lambda n: torch.randn(n, 784)


def _encoder(torch: Any) -> Any:
    nn = torch.nn

    class Encoder(nn.Module):
        """A classifier of texts: four pre-norm layers of width 128 over 32 tokens."""

        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, norm_first=True)
            self.tokens = nn.Embedding(1000, 128)
            self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(128, 5)

        def forward(self, x: Any) -> Any:
            return self.head(self.layers(self.tokens(x)).mean(1))

    return Encoder(), lambda n: torch.randint(0, 1000, (n, 32))


def _lstm(torch: Any) -> Any:
    nn = torch.nn

    class Tagger(nn.Module):
        """Two LSTM layers of width 128 over 20 tokens, and the next one's logits."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(1000, 128)
            self.lstm = nn.LSTM(128, 128, 2, batch_first=True)
            self.head = nn.Linear(128, 1000)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.tokens(x))[0][:, -1])

    return Tagger(), lambda n: torch.randint(0, 1000, (n, 20))


def _resnet(torch: Any) -> Any:
    return resnet18_network(torch), lambda n: torch.randn(n, 3, 32, 32)


def _mobile(torch: Any) -> Any:
    """Inverted residual blocks with squeeze and excitation, as in EfficientNet, on 96 x 96 images."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, planes: int, out: int, stride: int) -> None:
            super().__init__()
            wide = 4 * planes
            self.expand = nn.Sequential(nn.Conv2d(planes, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU())
            convolution = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
            self.depthwise = nn.Sequential(convolution, nn.BatchNorm2d(wide), nn.SiLU())
            squeeze, excite = nn.Conv2d(wide, wide // 8, 1), nn.Conv2d(wide // 8, wide, 1)
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), squeeze, nn.SiLU(), excite, nn.Sigmoid())
            self.project = nn.Sequential(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))
            self.adds = planes == out and stride == 1

        def forward(self, x: Any) -> Any:
            y = self.depthwise(self.expand(x))
            y = self.project(y * self.gate(y))
            return x + y if self.adds else y

    shapes = (16, 24, 2), (24, 24, 1), (24, 40, 2), (40, 40, 1), (40, 80, 2), (80, 80, 1)
    stem = nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.SiLU()
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(80, 100)
    return nn.Sequential(*stem, *(Block(*shape) for shape in shapes), *head), lambda n: torch.randn(n, 3, 96, 96)


_TOKENS = 64  # that a call of the GPT generates


def _gpt(torch: Any) -> Any:
    """One token's pass through four pre-norm layers of width 128, with the keys and values of the tokens before it."""
    nn, heads, width, layers = torch.nn, 4, 128, 4

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any, at: Any, seen: Any, keys: Any, values: Any) -> Any:
            q, k, v = self.project(self.before(x)).reshape(-1, 1, 3 * heads, width // heads).transpose(1, 2).chunk(3, 1)
            keys, values = torch.where(at, k, keys), torch.where(at, v, values)
            y = nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
            x = x + self.out(y.transpose(1, 2).reshape(-1, 1, width))
            return x + self.wide(self.after(x)), keys, values

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(1000, width), nn.Embedding(_TOKENS, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1000))
            self.register_buffer("places_of_all", torch.arange(_TOKENS))

        def forward(self, token: Any, place: Any, keys: Any, values: Any) -> Any:
            """token: (batch,). place: (1,). keys, values: (layers, batch, heads, tokens, width of a head)."""
            x = self.tokens(token)[:, None] + self.places(place)
            at, seen = (self.places_of_all == place)[:, None], (self.places_of_all <= place)[None]
            new_keys, new_values = [], []
            for i, block in enumerate(self.blocks):
                x, k, v = block(x, at, seen, keys[i], values[i])
                new_keys.append(k)
                new_values.append(v)
            return self.head(x)[:, 0].argmax(1), torch.stack(new_keys), torch.stack(new_values)

    def make(n: int) -> tuple:
        cache = torch.zeros(layers, n, heads, _TOKENS, width // heads)
        return torch.randint(0, 1000, (n,)), torch.tensor([0]), cache, cache

    return Step(), make


CASES = {
    "MLP": _mlp,
    "text encoder": _encoder,
    "LSTM": _lstm,
    "ResNet-18": _resnet,
    "inverted residuals": _mobile,
    f"GPT, {_TOKENS} tokens": _gpt,
}


def cases(library: Any, case: str, batch: int, how: str) -> dict[str, Callable[[], Any]]:
    """'call' -> one call of a case; for `Runner`."""
    library.manual_seed(0)
    module, make = CASES[case](library)
    module.eval()
    inputs = [_tuple(make(batch)) for _ in range(_INPUTS)]
    if how == "onnxruntime":
        run, prepared = _of_onnxruntime(library, module, inputs[0]), [[x.numpy() for x in row] for row in inputs]
        places = [library.tensor([i]).numpy() for i in range(_TOKENS)]
    else:
        run, prepared = _of_module(library, module, how), inputs
        places = [library.tensor([i]) for i in range(_TOKENS)]
    position = 0

    @library.no_grad()
    def call() -> None:
        nonlocal position
        position = (position + 1) % _INPUTS
        row = prepared[position]
        if len(row) == 1:
            run(*row)
            return
        token, _, keys, values = row
        for place in places:
            token, keys, values = run(token, place, keys, values)

    return {"call": call}


def _tuple(inputs: Any) -> tuple:
    return inputs if isinstance(inputs, tuple) else (inputs,)


def _of_module(library: Any, module: Any, how: str) -> Callable[..., Any]:
    return library.compile(module) if how == "compiled" else module


def _of_onnxruntime(library: Any, module: Any, example: tuple) -> Callable[..., Any]:
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        library.onnx.export(module, example, str(path), opset_version=18)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = library.get_num_threads()
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return lambda *row: session.run(None, dict(zip(names, row, strict=True)))


def measure(case: str, batch: int, threads: int, pairs: int, warm_s: float) -> dict[str, list[float]]:
    """Milliseconds a call of each variant that is installed, in turn."""
    runners = {
        how: Runner(library, "benchmarks.inference", threads, how, case=case, batch=batch, how=how)
        for how, library in VARIANTS.items()
        if installed(library) and (how != "onnxruntime" or installed(how))
    }
    times: dict[str, list[float]] = {how: [] for how in runners}
    try:
        repeats = {}
        for how, runner in runners.items():
            end, each = perf_counter() + warm_s, 0.0
            while perf_counter() < end or not each:
                each = runner.time("call", 1 if not each else max(1, int(_LEAST_S / each)))
            repeats[how] = max(1, int(_LEAST_S / each))
        for _ in range(pairs):
            for how, runner in runners.items():
                times[how].append(1e3 * runner.time("call", repeats[how]))
    finally:
        for runner in runners.values():
            runner.close()
    return times


def add_options(parser: Any) -> None:
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--warm", type=float, default=4.0, dest="warm_s", help="seconds of calls before the first turn")


def main(cases: list[str], batch: list[int], threads: int, pairs: int, warm_s: float) -> None:
    """Print a table: each variant's milliseconds, and the compiled call's time over the better of the other libraries'."""
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        raise SystemExit(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    print(f"{threads} threads; milliseconds a call, medians of {pairs} turns")
    print(
        f"{'':20}{'batch':>6}"
        + "".join(f"{how:>14}" for how in VARIANTS)
        + f"{'compiled / best':>18}{'unmodified / torch':>20}"
    )
    for case in cases or CASES:
        for n in batch:
            times = measure(case, n, threads, pairs, warm_s)
            shown = "".join(
                f"{statistics.median(times[how]):14.3f}" if how in times else f"{'-':>14}" for how in VARIANTS
            )
            others = [times[how] for how in ("onnxruntime", "torch") if how in times]
            best = min(others, key=statistics.median) if others else None
            shown += f"{_ratio(times['compiled'], best):>18}{_ratio(times['unmodified'], times.get('torch')):>20}"
            print(f"{case:20}{n:6}{shown}", flush=True)


def _ratio(ours: list[float], theirs: list[float] | None) -> str:
    if theirs is None:
        return "-"
    return f"{statistics.median(a / b for a, b in zip(ours, theirs, strict=True)):.2f}"

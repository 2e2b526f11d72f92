"""How far a step is from the machine's limits: operations over peak, bytes over bandwidth, both peaks measured in the run.

Operations are those of matrix products and convolutions, two to a multiply-add: once forward, once for the weight's
gradient, once for the input's where the input has one. Bytes are a floor: parameters, optimizer state and what the
layers write are each read and written once in a step, as a copy reads and writes. Small cases stay within the caches,
where the bandwidth of a large copy is no limit; then what is left is the cost of starting so many small pieces of work.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from .paired import Runner
from .step_cases import Case

_SIDE, _COPIED = 2048, 2**28


@dataclass
class Work:
    """What a step has to do at least."""

    operations: float
    bytes: float


@dataclass
class Machine:
    """What this machine did best in this run: operations a second, and bytes copied a second."""

    operations: float
    bytes: float

    def seconds(self, work: Work) -> tuple[float, float]:
        """How long the operations take at the peak, and the bytes at the copy's bandwidth."""
        return work.operations / self.operations, work.bytes / self.bytes


def cases(torch) -> dict[str, Callable[[], object]]:
    """A large matrix product and a large copy."""
    a, b = torch.randn(_SIDE, _SIDE), torch.randn(_SIDE, _SIDE)
    source, target = torch.ones(_COPIED // 4), torch.empty(_COPIED // 4)
    return {"matmul": lambda: a @ b, "copy": lambda: target.copy_(source)}


def measure(libraries: list[str], threads: int | None) -> Machine:
    """The better of the libraries' medians."""
    best = {"matmul": 0.0, "copy": 0.0}
    amount = {"matmul": 2.0 * _SIDE**3, "copy": float(_COPIED)}
    for library in libraries:
        runner = Runner(library, "benchmarks.step_limits", threads)
        for case in best:
            runner.time(case, 3)
            seconds = statistics.median(runner.time(case, 3) for _ in range(5))
            best[case] = max(best[case], amount[case] / seconds)
        runner.close()
    return Machine(best["matmul"], best["copy"])


def count_work(case: Case) -> Work:
    """Take one step of a freshly built, uncompiled case, and add up what its layers see."""
    work = Work(0.0, 0.0)

    def add(module, inputs, output):
        x, out = inputs[0], output[0] if isinstance(output, tuple) else output
        kind = type(module).__name__
        if kind in _PRODUCTS:
            passes = 3 if x.requires_grad else 2
            work.operations += passes * _PRODUCTS[kind](module, x, out)
        if not list(module.children()) and out.data_ptr() != x.data_ptr():
            work.bytes += out.numel() * out.element_size()

    for network in case.networks:
        for module in network.modules():
            module.register_forward_hook(add)
    case.step(*case.batches[0])
    for optimizer in case.optimizers:
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            tensors = [p, *(t for t in optimizer.state[p].values() if hasattr(t, "numel"))]
            work.bytes += sum(t.numel() * t.element_size() for t in tensors)
    return work


def _attention(module, x, out) -> float:
    n, length, width = x.shape
    return 2 * n * length * length * width  # both products, the lower half of each


def _lstm(module, x, out) -> float:
    length, n, _ = x.shape
    weights = sum(p.numel() for name, p in module.named_parameters() if name.startswith("weight"))
    return 2 * length * n * weights


_PRODUCTS: dict[str, Callable[..., float]] = {
    "Linear": lambda module, x, out: 2 * out.numel() * module.in_features,
    "Conv2d": lambda module, x, out: 2 * out.numel() * prod(module.weight.shape[1:]),
    "ConvTranspose2d": lambda module, x, out: 2 * x.numel() * prod(module.weight.shape[1:]),
    "LSTM": _lstm,
    "Attention": _attention,
}

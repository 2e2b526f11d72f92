"""Training that is the same under every torch: weights and inputs by formulas, and the record of a few steps."""

import contextlib
import io
import json
import math
import sys

import torch


def numbers(*shape, scale=1.0, phase=0.0):
    """A float tensor whose elements are sines: no random stream takes part."""
    angles = torch.arange(math.prod(shape), dtype=torch.float64) * 1.7 + phase
    return (torch.sin(angles) * scale).to(torch.float32).reshape(shape)


def whole_numbers(*shape, below, phase=0):
    """An int64 tensor of numbers under `below` that look mixed."""
    counts = torch.arange(math.prod(shape)) + phase
    return ((counts * 7919 + 13) % 10007 % below).reshape(shape)


@torch.no_grad()
def fill(model):
    """Give every parameter of the model its values: sines, of about the size that initialisation gives them."""
    for place, (name, parameter) in enumerate(model.named_parameters()):
        if parameter.ndim > 1:
            scale = 1.4 / math.sqrt(parameter[0].numel())
            parameter.copy_(numbers(*parameter.shape, scale=scale, phase=place))
        else:
            base = 1.0 if name.endswith("weight") else 0.0
            parameter.copy_(base + numbers(*parameter.shape, scale=0.1, phase=place))
    return model


def steps(model, loss_of, optimizer=None, count=3, longest=None):
    """The losses of `count` training steps, and the norm of the first step's gradient; `longest` clips gradients."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, norm = [], 0.0
    for _ in range(count):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        if not losses:
            norm = math.sqrt(sum(p.grad.double().pow(2).sum().item() for p in model.parameters() if p.grad is not None))
        if longest:
            torch.nn.utils.clip_grad_norm_(model.parameters(), longest)
        optimizer.step()
        losses.append(loss.item())
    return [*losses, norm]


def both(make, loss_of, optimizer=None, longest=None):
    """`steps` with the formula's weights, in evaluation mode, and with seeded ones, in training mode (dropout draws)."""
    found = {}
    for case in ("formula", "seeded"):
        torch.manual_seed(0)
        model = make()
        if case == "formula":
            fill(model)
        model.train(case == "seeded")
        found[case] = steps(model, loss_of, optimizer and optimizer(model), longest=longest)
    return found


def main(cases):
    """Print, as one line of JSON, what the named cases (all without a name) give; an error gives its text."""
    found = {}
    for name in sys.argv[1:] or cases:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found[name] = cases[name]()
        except Exception as error:
            import traceback

            traceback.print_exc()
            found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))

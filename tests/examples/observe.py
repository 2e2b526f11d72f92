"""Run a program and write down what it prints and the numbers of its training steps, whatever serves `torch`.

    python observe.py RESULT.json [--rushlight] [--cifar FACTS.json] [--nudge SEED] program.py [arguments ...]

--nudge moves each parameter by a few units in its last place before its module is first called, as much as sums of hundreds of
products are rounded by: what then differs, rounding decides. --rushlight installs Rushlight as `torch` and `torchvision` first. --cifar gives torchvision.datasets.CIFAR10 the
attributes in the file (url and checksums of a small archive). RESULT.json then holds, for the first 100 steps each,

    losses      the value of each tensor that backward() was called on (of several elements: their norm)
    gradients   the norm of all gradients before each optimizer step
    parameters  the norm of all parameters after it
    final       sum and norm of each parameter of the last optimizer at the end
    printed     the lines on stdout
"""

import argparse
import contextlib
import io
import json
import os
import runpy
import sys

STEPS = 100


def norm(torch, tensors):
    with torch.no_grad():
        return sum((t.double() ** 2).sum().item() for t in tensors) ** 0.5


def parameters(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def watch(torch):
    """Start recording; returns the record and the list of optimizers that stepped."""
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    record = {"losses": [], "gradients": [], "parameters": []}
    optimizers = []
    backward = torch.Tensor.backward

    def watched_backward(self, *args, **keywords):
        backward(self, *args, **keywords)
        if len(record["losses"]) < STEPS:
            record["losses"].append(self.item() if self.numel() == 1 else norm(torch, [self]))

    def before(optimizer, args, keywords):
        if len(record["gradients"]) < STEPS:
            record["gradients"].append(norm(torch, [p.grad for p in parameters(optimizer) if p.grad is not None]))

    def after(optimizer, args, keywords):
        if len(record["parameters"]) < STEPS:
            record["parameters"].append(norm(torch, parameters(optimizer)))
        optimizers[:] = [optimizer]

    torch.Tensor.backward = watched_backward
    register_optimizer_step_pre_hook(before)
    register_optimizer_step_post_hook(after)
    return record, optimizers


def nudge(torch, seed):
    """Move each parameter by up to four units in its last place when its module is first called."""
    import numpy

    draw, seen = numpy.random.default_rng(seed), {}

    def before_forward(module, args):
        for parameter in module.parameters():
            if id(parameter) not in seen:
                seen[id(parameter)] = parameter
                units = draw.integers(-4, 5, tuple(parameter.shape)) * torch.finfo(parameter.dtype).eps
                parameter.data.mul_(torch.from_numpy(numpy.asarray(1 + units)).to(parameter.dtype))

    torch.nn.modules.module.register_module_forward_pre_hook(before_forward)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--rushlight", action="store_true")
    parser.add_argument("--cifar")
    parser.add_argument("--nudge", type=int)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    sys.path[0] = os.path.dirname(os.path.abspath(args.program))
    if args.rushlight:
        from rushlight.alias import install

        install()
    import torch

    if args.cifar:
        import torchvision

        with open(args.cifar) as file:
            for name, value in json.load(file).items():
                setattr(torchvision.datasets.CIFAR10, name, value)
    if args.nudge is not None:
        nudge(torch, args.nudge)
    record, optimizers = watch(torch)
    sys.argv = [args.program, *args.arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(args.program, run_name="__main__")
    record["final"] = [[p.detach().double().sum().item(), norm(torch, [p])] for o in optimizers for p in parameters(o)]
    record["printed"] = printed.getvalue().splitlines()
    with open(args.result, "w") as file:
        json.dump(record, file)


if __name__ == "__main__":
    main()

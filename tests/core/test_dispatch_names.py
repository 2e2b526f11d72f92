"""The overloads that a mode is asked for, with their numbers of arguments and keywords, as torch 2.13 gives them."""

import subprocess
import sys

import rushlight as torch

START = """
from rushlight.alias import install
install()
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
"""

CALLS = """
class Names(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(" ", func, len(args), *sorted(kwargs or {}))
        return func(*args, **(kwargs or {}))

torch.manual_seed(0)
x, image, words = torch.randn(4, 6), torch.randn(2, 3, 8, 8), torch.tensor([0, 1, 2, 3])
linear, conv, norm = nn.Linear(6, 6), nn.Conv2d(3, 4, 3), nn.BatchNorm2d(3)
transposed, fixed, table = nn.ConvTranspose2d(3, 2, 3, 2, output_padding=1), nn.BatchNorm2d(3).eval(), nn.Embedding(10, 4)
calls = {
    "linear": lambda: linear(x),
    "conv": lambda: conv(image),
    "transposed": lambda: transposed(image),
    "norm": lambda: norm(image),
    "norm, evaluation": lambda: fixed(image),
    "leaky_relu": lambda: F.leaky_relu(x.requires_grad_()),
    "embedding": lambda: table(words),
    "tensor": lambda: torch.tensor([1.0, 2.0]),
    "empty": lambda: torch.empty(2, 3),
    "zeros_like": lambda: torch.zeros_like(x),
    "new_zeros": lambda: x.new_zeros(2, 3),
    "new_ones": lambda: x.new_ones((2,)),
    "ones_like": lambda: torch.ones_like(x, requires_grad=True),
    "item": lambda: x.detach()[0, 0].item(),
    "float": lambda: float(x.detach()[0, 0]),
}
logp, classes = torch.randn(4, 3, requires_grad=True), torch.tensor([0, 2, -100, 1])
calls["nll_loss"] = lambda: F.nll_loss(logp, classes)
calls["cross_entropy of images"] = lambda: F.nll_loss(logp.view(2, 3, 2, 1), classes.view(2, 2, 1))
for name, call in calls.items():
    print(name)
    with Names():
        result = call()
        if isinstance(result, torch.Tensor) and result.requires_grad and not result.is_leaf:
            print("  backward")
            result.sum().backward()
"""

# without torch's `empty` before each batch norm, for a reserve that only CUDA fills
EXPECTED = """
linear
  aten.t.default 1
  aten.addmm.default 3
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.t.default 1
  aten.mm.default 2
  aten.t.default 1
  aten.sum.dim_IntList 3
  aten.view.default 2
  aten.detach.default 1
  aten.t.default 1
  aten.detach.default 1
conv
  aten.convolution.default 9
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.convolution_backward.default 11
  aten.detach.default 1
  aten.detach.default 1
transposed
  aten.convolution.default 9
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.convolution_backward.default 11
  aten.detach.default 1
  aten.detach.default 1
norm
  aten.add_.Tensor 2
  aten.native_batch_norm.default 8
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.native_batch_norm_backward.default 10
  aten.detach.default 1
  aten.detach.default 1
norm, evaluation
  aten.native_batch_norm.default 8
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.native_batch_norm_backward.default 10
  aten.detach.default 1
  aten.detach.default 1
leaky_relu
  aten.leaky_relu.default 1
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.leaky_relu_backward.default 4
  aten.detach.default 1
embedding
  aten.embedding.default 2
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.embedding_dense_backward.default 5
  aten.detach.default 1
tensor
  aten.lift_fresh.default 1
empty
  aten.empty.memory_format 1 device pin_memory
zeros_like
  aten.zeros_like.default 1 pin_memory
new_zeros
  aten.new_zeros.default 2 pin_memory
new_ones
  aten.new_ones.default 2 pin_memory
ones_like
  aten.ones_like.default 1 pin_memory
item
  aten.detach.default 1
  aten.select.int 3
  aten.select.int 3
  aten._local_scalar_dense.default 1
float
  aten.detach.default 1
  aten.select.int 3
  aten.select.int 3
  aten._local_scalar_dense.default 1
nll_loss
  aten.nll_loss_forward.default 5
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.nll_loss_backward.default 7
  aten.detach.default 1
cross_entropy of images
  aten.view.default 2
  aten.view.default 2
  aten.nll_loss2d_forward.default 5
  backward
  aten.sum.default 1
  aten.ones_like.default 1 memory_format pin_memory
  aten.expand.default 2
  aten.nll_loss2d_backward.default 7
  aten.view.default 2
  aten.add_.Tensor 2
"""

VALUES = """
class Keeps(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.kept = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.kept.append((result, [t.clone() for t in result] if type(result) is tuple and None not in result else None))
        return result

def layers():
    torch.manual_seed(3)
    first = nn.Conv2d(2, 4, 3, groups=2), nn.BatchNorm2d(4), nn.LeakyReLU(), nn.BatchNorm2d(4).eval()
    return nn.Sequential(*first, nn.ConvTranspose2d(4, 2, 3, 2, 1, 1), nn.ConvTranspose2d(2, 2, 2, groups=2, bias=False))

x = torch.randn(2, 2, 7, 7, requires_grad=True)
plain, watched = layers(), layers()
for _ in range(2):
    (plain(x) ** 2).sum().backward()
expected, x.grad = x.grad, None
mode = Keeps()
with mode:
    for _ in range(2):
        (watched(x) ** 2).sum().backward()
print(torch.allclose(x.grad, expected, 1e-4, 1e-4), x.grad._base is None, x.grad.grad_fn is None)
same = [torch.allclose(a.grad, b.grad, 1e-4, 1e-4) for a, b in zip(plain.parameters(), watched.parameters())]
print(len(same), all(same))
print(all(torch.equal(a, b) for a, b in zip(plain.buffers(), watched.buffers())), watched[1].num_batches_tracked.item())
results = [(a, b) for several, copies in mode.kept if copies for a, b in zip(several, copies)]
print(len(results) > 9, all(torch.equal(a, b) for a, b in results))
"""


def run(program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", START + program], capture_output=True, text=True)
    assert not done.stderr
    return done.stdout


def test_names_and_arguments_are_torchs():
    assert run(CALLS).split("\n") == EXPECTED.strip().split("\n") + [""]


def test_numbers_are_those_without_the_mode():
    assert run(VALUES).split() == ["True"] * 3 + ["9", "True", "True", "2", "True", "True"]


def test_losses_have_torchs_sums_of_weights():
    from rushlight.core.dispatch.aten import operator

    logp, classes = torch.zeros(4, 3), torch.tensor([0, 2, -100, 1])
    weight = torch.tensor([1.0, 2.0, 3.0])
    forward, backward = operator("nll_loss_forward"), operator("nll_loss_backward")
    sums = [[forward(logp, classes, w, reduction, -100)[1].item() for reduction in (0, 1, 2)] for w in (None, weight)]
    assert sums == [[0, 3, 3], [0, 6, 6]]
    slope = backward(torch.tensor(6.0), logp, classes, weight, 1, -100, torch.tensor(6.0))
    assert slope.tolist() == [[-1, 0, 0], [0, 0, -3], [0, 0, 0], [0, -2, 0]]

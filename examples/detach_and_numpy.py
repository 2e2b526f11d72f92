"""What detach() gives, when numpy() needs it, and a loss curve recorded and plotted through NumPy."""

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def loss_to_numpy():
    input = torch.randn(3, 5, requires_grad=True)
    target = torch.randint(0, 5, (3,))
    loss = F.cross_entropy(input, target)
    print("loss:", loss)
    try:
        loss.numpy()
    except RuntimeError as error:
        print("RuntimeError:", error)
    print("loss.detach().numpy():", loss.detach().numpy())
    print("loss.item():", round(loss.item(), 6))
    loss.backward()
    print("input.grad:")
    print(input.grad)


def what_detach_shares():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    d = y.detach()
    print("y requires grad:", y.requires_grad, " its detached alias:", d.requires_grad, d.grad_fn)
    print("the same memory:", d.data_ptr() == y.data_ptr(), np.shares_memory(d.numpy(), y.detach().numpy()))
    d[0] = 7
    print("after d[0] = 7:", y, " versions:", y._version, d._version)

    a = torch.tensor([1.0, 2.0], requires_grad=True)
    out = a.sigmoid()
    out.detach().zero_()
    try:
        out.sum().backward()
    except RuntimeError as error:
        print("RuntimeError:", error)


def detach_cuts_the_graph():
    w = torch.tensor([2.0], requires_grad=True)
    whole = w**2 * w
    whole.backward()
    print("d/dw of w^2 * w:", w.grad)
    w.grad = None
    cut = (w**2).detach() * w
    cut.backward()
    print("d/dw of (w^2).detach() * w:", w.grad)


def train(args):
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x = torch.linspace(-3, 3, 64).unsqueeze(1)
    y = torch.sin(x) + 0.1 * torch.randn(64, 1)
    losses = []
    for _ in range(args.steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().numpy())
    curve = np.array(losses)
    print(f"curve: {curve.dtype} {curve.shape} first {curve[0]:.4f} last {curve[-1]:.4f} mean {curve.mean():.4f}")
    return curve, x.numpy().ravel(), y.numpy().ravel(), model(x).detach().numpy().ravel()


def plot(curve, x, y, fitted, path):
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed, so there is no picture of the loss curve")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    smooth = np.convolve(curve, np.ones(10) / 10, mode="valid") if len(curve) >= 10 else curve
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.plot(curve, alpha=0.4, label="loss")
    left.plot(np.arange(len(smooth)) + len(curve) - len(smooth), smooth, label="mean of ten steps")
    left.set_yscale("log")
    left.set_xlabel("step")
    left.set_ylabel("mean squared error")
    left.legend()
    right.scatter(x, y, s=10, color="grey", label="data")
    right.plot(x, fitted, label="fitted")
    right.legend()
    fig.tight_layout()
    fig.savefig(path, dpi=120)
    print(f"loss curve saved to {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the picture")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(args.seed)
    loss_to_numpy()
    what_detach_shares()
    detach_cuts_the_graph()
    plot(*train(args), args.out / "detach_and_numpy.png")


if __name__ == "__main__":
    main()

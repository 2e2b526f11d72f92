"""Variables, an optimizer over plain tensors, and gradient descent by hand: a line is fitted in several ways."""

import argparse

import torch
from torch import optim
from torch.autograd import Variable


def make_data():
    """Points on the line 3 x + 2, with noise."""
    x = torch.linspace(-1, 1, 40)
    return x, 3 * x + 2 + 0.1 * torch.randn(40)


def variables():
    x = Variable(torch.FloatTensor([1, 2, 3]), requires_grad=True)
    print("a Variable is a tensor:", type(x).__name__, isinstance(x, Variable), isinstance(x, torch.Tensor), x)
    y = (x * x).sum()
    y.backward()
    print("x.grad:", x.grad, " x.data:", x.data, " x.grad.data:", x.grad.data)
    constant = Variable(torch.ones(2))
    print("requires_grad:", x.requires_grad, constant.requires_grad, (constant + 1).requires_grad)


def adam_over_plain_tensors(x, y, args):
    W = Variable(torch.randn(1), requires_grad=True)
    b = Variable(torch.zeros(1), requires_grad=True)
    optimizer = optim.Adam([W, b], lr=args.adam_lr)
    for epoch in range(args.epochs):
        total = 0.0
        for xi, yi in zip(x, y):
            optimizer.zero_grad()
            loss = (yi - (W * xi + b)) ** 2
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"  epoch {epoch + 1}  mean loss {total / len(x):.4f}  W {W.item():.4f}  b {b.item():.4f}")


def loss_that_is_no_scalar(x, y):
    W = torch.randn(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    optimizer = optim.Adam([W, b])
    optimizer.zero_grad()
    loss = (y - (W * x + b)) ** 2
    print("shape of the loss:", loss.shape)
    try:
        loss.backward()
    except RuntimeError as error:
        print("RuntimeError:", error)
    loss.mean().backward()
    optimizer.step()
    print(f"with mean() it works: W.grad {W.grad.item():.4f}  b.grad {b.grad.item():.4f}")


def zeroing_through_data(x, y, args):
    W = torch.randn(1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    print("before the first backward, W.grad is", W.grad)
    try:
        W.grad.zero_()
    except AttributeError as error:
        print("AttributeError:", error)
    for _ in range(args.epochs):
        loss = ((y - (W * x + b)) ** 2).mean()
        loss.backward()
        W.data -= args.lr * W.grad.data
        b.data -= args.lr * b.grad.data
        W.grad.data.zero_()
        b.grad.data.zero_()
    report(W, b, loss)


def sub_through_data(x, y, args):
    w = torch.randn(2, requires_grad=True)
    features = torch.stack([x, torch.ones_like(x)], dim=1)
    for _ in range(args.epochs):
        loss = ((y - features @ w) ** 2).mean()
        loss.backward()
        w.data.sub_(args.lr * w.grad.data)
        w.grad.data.zero_()
    report(w[0], w[1], loss)


def under_no_grad(x, y, args):
    w = torch.randn(2, requires_grad=True)
    features = torch.stack([x, torch.ones_like(x)], dim=1)
    try:
        loss = ((y - features @ w) ** 2).mean()
        loss.backward()
        w -= args.lr * w.grad
    except RuntimeError as error:
        print("RuntimeError:", error)
    w.grad.zero_()
    for _ in range(args.epochs):
        loss = ((y - features @ w) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= args.lr * w.grad
            w.grad.zero_()
    report(w[0], w[1], loss)
    print("still a leaf that requires grad:", w.is_leaf, w.requires_grad)


def rebinding_makes_no_leaf(x, y, args):
    w = torch.randn(2, requires_grad=True)
    features = torch.stack([x, torch.ones_like(x)], dim=1)
    ((y - features @ w) ** 2).mean().backward()
    w = w - args.lr * w.grad
    print("after w = w - lr * w.grad: leaf", w.is_leaf, " grad_fn", type(w.grad_fn).__name__)


def report(w, b, loss):
    print(f"  W {w.item():.4f}  b {b.item():.4f}  last loss {loss.item():.5f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.3, help="of gradient descent by hand")
    parser.add_argument("--adam-lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    x, y = make_data()
    variables()
    print("optim.Adam([W, b]), one sample at a time")
    adam_over_plain_tensors(x, y, args)
    print("a loss of more than one element")
    loss_that_is_no_scalar(x, y)
    print("W.data -= lr * W.grad.data; W.grad.data.zero_()")
    zeroing_through_data(x, y, args)
    print("w.data.sub_(lr * w.grad.data)")
    sub_through_data(x, y, args)
    print("w -= lr * w.grad")
    under_no_grad(x, y, args)
    rebinding_makes_no_leaf(x, y, args)


if __name__ == "__main__":
    main()

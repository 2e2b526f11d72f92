"""How gradients accumulate: backward() adds to .grad, and what it needs to be called again."""

import warnings

import torch
from torch import FloatTensor, LongTensor, mean


def backward_adds():
    w = FloatTensor([1.0, 2.0, 3.0]).requires_grad_()
    print("before the first backward:", w.grad)
    mean(w).backward()
    print("after mean(w).backward():", w.grad)
    mean(w).backward()
    print("after the second:", w.grad)
    w.grad.zero_()
    print("after w.grad.zero_():", w.grad)
    mean(w[1]).backward()
    print("after mean(w[1]).backward():", w.grad)


def non_scalars():
    x = FloatTensor([1.0, 2.0, 3.0]).requires_grad_()
    y = x**2
    try:
        y.backward()
    except RuntimeError as error:
        print("RuntimeError:", error)
    y.backward(gradient=torch.ones(3))
    print("y.backward(gradient=ones):", x.grad)
    x.grad = None
    (x**2).backward(FloatTensor([1.0, 0.1, 0.01]))
    print("y.backward(FloatTensor([1, .1, .01])):", x.grad)
    x.grad = None
    (x**2).sum().backward()
    print("y.sum().backward():", x.grad)


def the_second_time():
    x = FloatTensor([1.0, 2.0]).requires_grad_()
    y = (x.exp() * x).sum()
    y.backward()
    print("the first backward:", x.grad)
    try:
        y.backward()
    except RuntimeError as error:
        print("RuntimeError:", error)
    x.grad = None
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    print("twice, with retain_graph=True:", x.grad)


def retain_variables():
    x = FloatTensor([3.0]).requires_grad_()
    y = x * x
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            y.backward(retain_variables=True)
            y.backward()
        except TypeError as error:
            print("TypeError:", error)
            return
    print("retain_variables=True:", x.grad, *(f"{w.category.__name__}: {w.message}" for w in caught))


def two_losses():
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    shared = w * 2
    shared.sum().backward(retain_graph=True)
    (shared**2).sum().backward()
    print("two losses over one graph:", w.grad)
    w.grad = None
    (shared_again(w).sum() + (shared_again(w) ** 2).sum()).backward()
    print("their sum at once:", w.grad)


def shared_again(w):
    return w * 2


def old_constructors():
    for tensor in (FloatTensor([1, 2]), LongTensor([1, 2]), torch.DoubleTensor([1, 2]), torch.IntTensor([1, 2]),
                   torch.ShortTensor([1, 2]), torch.CharTensor([1, 2]), torch.ByteTensor([1, 2]),
                   torch.HalfTensor([1, 2]), torch.BoolTensor([True, False])):  # fmt: skip
        print(tensor.type(), tensor)
    print("FloatTensor(2, 3):", FloatTensor(2, 3).zero_().shape)
    floats = FloatTensor([1.7, -1.7])
    print("type(torch.LongTensor):", floats.type(torch.LongTensor), floats.long().type())
    print("isinstance:", isinstance(floats, torch.FloatTensor), isinstance(floats, torch.LongTensor))
    try:
        LongTensor([1]).requires_grad_()
    except RuntimeError as error:
        print("RuntimeError:", error)
    dtype = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
    print("dtype:", torch.randn(2, 2).type(dtype).type())
    if not torch.cuda.is_available():
        try:
            torch.cuda.FloatTensor([1, 2])
        except TypeError as error:
            print("TypeError:", error)


def main():
    backward_adds()
    non_scalars()
    the_second_time()
    retain_variables()
    two_losses()
    old_constructors()


if __name__ == "__main__":
    main()

"""Answers as plain data, and the things that scenarios share."""

import warnings


def attempt(action):
    """The action's result, or its error as text."""
    try:
        return plain(action())
    except Exception as error:
        return plain(f"{type(error).__name__}: {error}")


def plain(value):
    """Data that JSON holds: numbers, text, lists. The library's own name is written as torch."""
    if isinstance(value, (bool, int, float, type(None))):
        return value
    if isinstance(value, str):
        return value.replace("rushlight", "torch")
    if isinstance(value, dict):
        return [[plain(k), plain(v)] for k, v in value.items()]
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return [plain(v) for v in value]
    return plain(repr(value))


def warned(action):
    """The action's result and the warnings it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = attempt(action)
    return [result, [f"{w.category.__name__}: {plain(str(w.message))}" for w in caught]]


def ramp(T, *shape):
    n = 1
    for extent in shape:
        n *= extent
    return (T.arange(n).float() - n / 2).reshape(*shape) / n


def net(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = T.nn.Linear(3, 4)
            self.norm = T.nn.BatchNorm1d(4)
            self.head = T.nn.Sequential(T.nn.ReLU(), T.nn.Linear(4, 2, bias=False))
            self.register_buffer("offset", T.zeros(2))
            self.register_buffer("scratch", T.ones(1), persistent=False)
            self.scale = T.nn.Parameter(T.ones(2))

        def forward(self, x):
            return self.head(self.norm(self.first(x))) * self.scale + self.offset

    T.manual_seed(3)
    return Net()

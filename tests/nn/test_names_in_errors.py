"""Wrong arguments name the layer or the method that was called, and not what it is made of."""

from functools import partial

import pytest

import rushlight as torch
from rushlight import nn

LAYERS = [
    kind
    for name, kind in sorted(vars(nn.modules).items())
    if isinstance(kind, type)
    and issubclass(kind, nn.Module)
    and name[0] != "_"
    and name not in ("Container", "NLLLoss2d")
]


@pytest.mark.parametrize("kind", LAYERS, ids=lambda kind: kind.__name__)
def test_layers_name_themselves(kind):
    try:
        kind(bogus=1)
    except TypeError as error:
        assert str(error)[0] != "_"
    else:
        assert kind is nn.Identity
    assert kind.__init__.__qualname__[0] != "_"


def test_methods_name_themselves():
    for name in ("relu_", "add_", "exp_", "clamp_"):
        with pytest.raises(TypeError, match=rf"(Tensor\.)?{name}\(\)"):
            getattr(torch.ones(1), name)(1, 2, 3, bogus=1)


def test_a_layer_of_the_user_keeps_its_names():
    class _Base(nn.Module):
        def __init__(self, size):
            super().__init__()

    class Layer(_Base):
        pass

    assert Layer.__init__ is _Base.__init__
    assert nn.Conv2d(1, 2, kernel_size=3).kernel_size == (3, 3)


def test_a_users_class_may_have_any_callable_as_its_beginning():
    class Start:
        def __get__(self, module, kind):
            return partial(nn.Module.__init__, module)  # which has no __qualname__

    class Base(nn.Module):
        __init__ = Start()

    class Net(Base):
        def forward(self, x):
            return x + 1

    assert Net()(torch.ones(1)).item() == 2

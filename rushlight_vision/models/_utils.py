"""torchvision's module name for the pieces that its models share: layers by name, and channel counts."""

from collections import OrderedDict

from rushlight import nn

__all__ = ["IntermediateLayerGetter"]


class IntermediateLayerGetter(nn.ModuleDict):
    """A model's children up to the last one wanted, run one after the other; returns what the wanted ones gave.

    return_layers: {name of a direct child: key of its output in the result}. The children must be in the order in which
    the model runs them. ValueError for a name that is not a child's.
    """

    _version = 2

    def __init__(self, model, return_layers):
        wanted = {str(name): str(key) for name, key in return_layers.items()}
        children = dict(model.named_children())
        if not wanted.keys() <= children.keys():
            raise ValueError("return_layers are not present in model")
        names = list(children)
        last = max((names.index(name) for name in wanted), default=len(names) - 1)
        super().__init__(OrderedDict((name, children[name]) for name in names[: last + 1]))
        self.return_layers = return_layers

    def forward(self, x):
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


def _make_divisible(v, divisor, min_value=None):
    """The multiple of `divisor` nearest to `v`, not below `min_value` nor by more than a tenth below `v`."""
    nearest = max(divisor if min_value is None else min_value, int(v + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * v else nearest

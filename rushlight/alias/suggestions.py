"""Which names of Rushlight come near to one that it has not."""

from ..core.tensor.tensor import Tensor

__all__ = ["Hinted", "hint", "nearest"]

_PLACES = {
    "torch": (
        "torch",
        "torch.nn",
        "torch.nn.functional",
        "torch.linalg",
        "torch.optim",
        "torch.utils.data",
        "torch.special",
    ),
    "torchvision": ("torchvision.transforms", "torchvision.datasets", "torchvision.utils", "torchvision.models"),
}
_CLOSE = 0.75  # of difflib's ratio: 1 is the same text


class Hinted(Exception):
    """Before an exception class of Python's among the bases, under whose name it is shown: looks for what comes near to a path
    when it is shown.

    The search takes 4 to 10 ms, and who only asks whether a name is there (`hasattr`) shows nothing.
    """

    def __init_subclass__(cls):
        cls.__name__ = cls.__qualname__ = cls.__bases__[-1].__name__
        cls.__module__ = "builtins"

    def __init__(self, message, *, path, **options):
        super().__init__(message, **options)
        self._path = path

    def __str__(self):
        return self.args[0] + hint(self._path)

    def __reduce__(self):
        return type(self).__bases__[-1], (str(self),)


def hint(path):
    """' (nearest: ...)', or nothing where nothing comes near."""
    found = nearest(path)
    return f" (nearest: {', '.join(found)})" if found else ""


def nearest(path, most=3):
    """At most `most` full names, the nearest first; those of the same module and the same name elsewhere come first."""
    import difflib

    module, _, name = path.rpartition(".")
    candidates = {}
    for place in dict.fromkeys((module, *_PLACES.get(path.partition(".")[0], ()))):
        for known in _known(place):
            candidates.setdefault(known, []).append(f"{place}.{known}")
    close = difflib.get_close_matches(name, candidates, n=most, cutoff=_CLOSE)
    return [full for known in close for full in candidates[known]][:most]


def _known(place):
    """Public names at a place where both torch and Rushlight have them."""
    from . import lookup, torch_names

    if place == "torch.Tensor":
        return [n for n in torch_names.of_class(place) or () if hasattr(Tensor, n) and not lookup.is_absent_method(n)]
    try:
        module = lookup.loaded(place)
    except ModuleNotFoundError:  # a package that the module needs is not installed
        return []
    theirs = torch_names.of_module(place)
    return [] if module is None else [n for n in dir(module) if n in theirs and not n.startswith("_")]

"""Every operator, by torch's name, in folders by family. Importing the files registers them; `OPS` maps names to functions."""

import sys

from ..core.dispatch.aten import Operators
from ..core.dispatch.extension_points import registered_operators
from ..core.dispatch.op import OPS
from ..core.tensor.tensor import Tensor
from .nn import (
    activation,
    attention,
    class_loss,
    ctc,
    embedding,
    loss,
    native_forms,
    normalize,
    rectifiers,
    smooth,
    softmax,
)
from .spatial import adaptive_pool, avg_pool, conv, grid, interpolate, pool
from .product import addmm, bilinear, matmul, products
from .special import bessel, error_functions, gamma_functions, logistic, modified_bessel, names, special_polynomials
from .pointwise import arithmetic, bitwise, choice, complex_parts, elementary, limits, power, relations
from .creation import filled, from_data, ranges
from .shape import (
    concatenate,
    copying,
    diagonal,
    geometry_in_place,
    rearrange,
    replaced_parts,
    resize,
    sequences,
    slicing,
    view,
)
from .reduce import cumulative, extremum, histogram, norms, ordering, reduction, variance
from .random import dropout, gamma, sample
from .index import index, index_slices, mask, scatter, scatter_reduce, shared_places, take
from .linalg import linalg, low_rank, lu
from .recurrent import recurrent
from . import aten_forms, predicates, inplace_names

# Functions that have the name of a module of before: importing that name must not put the module in the function's place.
for _old, _module in {
    "addmm": addmm, "embedding": embedding, "interpolate": interpolate, "lu": lu, "matmul": matmul, "normalize": normalize,
    "scatter": scatter, "scatter_reduce": scatter_reduce, "softmax": softmax, "take": take,
}.items():  # fmt: skip
    sys.modules[f"{__name__}.{_old}"] = _module
globals().update(OPS)
aten = Operators()
__all__ = [*OPS]  # pyright: ignore[reportUnsupportedDunderAll]: the files register the names


def __getattr__(name: str) -> object:
    """What pickles written before look for in the modules `create` and `join`, which are several now, beyond operators; and
    the namespaces of operators that programs register.
    """
    if name in ("new", "new_full", "new_tensor"):
        return getattr(filled, name)
    if name in ("repeat", "_flip_method", "_tile_method"):
        return getattr(Tensor, name.removeprefix("_").removesuffix("_method"))
    if name == "complex_":
        return OPS["complex"]
    found = None if registered_operators.value is None else registered_operators.value(name)
    if found is not None:
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

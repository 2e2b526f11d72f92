from .core.tensor import Tensor, wrap
from . import ops
from .autograd import backward
from .core.dtype import *

"""Functions of networks, under torch's names: those of `torch.nn.functional`."""

from .activation import *
from .convolution import *
from .distance import *
from .dropout import *
from .embedding import *
from .loss import *
from .normalization import *
from .pooling import *
from .resize import *

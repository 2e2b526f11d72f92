from . import backward

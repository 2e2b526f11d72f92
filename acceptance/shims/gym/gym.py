"""The old name of gymnasium."""

# pyright: reportMissingImports=false

from gymnasium import *  # noqa: F403
from gymnasium import envs, make, spaces, wrappers  # noqa: F401

"""`torch._inductor`: torch's code generator is not part of Rushlight, whose own has nothing to be set.

Scripts tune the generator's speed by `torch._inductor.config`; what they set there is kept and changes no result. Passes that
they add there change the graphs of what is compiled.
"""

from . import config, custom_passes, pattern_matcher, utils

__all__ = ["config", "cudagraph_mark_step_begin", "custom_passes", "pattern_matcher", "utils"]


def cudagraph_mark_step_begin() -> None:
    """Tell graphs of CUDA that a step begins: there are none."""

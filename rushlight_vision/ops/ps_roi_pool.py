"""torchvision's module name for `ps_roi_pool` and `PSRoIPool`, which are in `roi`."""

from rushlight_vision.ops.roi import PSRoIPool, ps_roi_pool

__all__ = ["PSRoIPool", "ps_roi_pool"]

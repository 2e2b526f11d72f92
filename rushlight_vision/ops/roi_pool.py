"""torchvision's module name for `roi_pool` and `RoIPool`, which are in `roi`."""

from rushlight_vision.ops.roi import RoIPool, roi_pool

__all__ = ["RoIPool", "roi_pool"]

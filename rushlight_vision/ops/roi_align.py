"""torchvision's module name for `roi_align` and `RoIAlign`, which are in `roi`."""

from rushlight_vision.ops.roi import RoIAlign, roi_align

__all__ = ["RoIAlign", "roi_align"]

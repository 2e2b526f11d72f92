"""torchvision's module name for `ps_roi_align` and `PSRoIAlign`, which are in `roi`."""

from rushlight_vision.ops.roi import PSRoIAlign, ps_roi_align

__all__ = ["PSRoIAlign", "ps_roi_align"]

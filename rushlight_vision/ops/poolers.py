"""torchvision's module name for `MultiScaleRoIAlign`."""

from rushlight_vision.ops.feature_pyramid_network import MultiScaleRoIAlign

__all__ = ["MultiScaleRoIAlign"]

"""torchvision's module name for `MultiScaleRoIAlign`."""

from rushlight.vision.ops.feature_pyramid_network import MultiScaleRoIAlign

__all__ = ["MultiScaleRoIAlign"]

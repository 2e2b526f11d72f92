"""MaxViT: not implemented, its names raise when called."""

from rushlight_vision.models._absent import absent

__all__ = ["MaxVit", "maxvit_t"]

MaxVit = absent("maxvit", "MaxVit")
maxvit_t = absent("maxvit", "maxvit_t")

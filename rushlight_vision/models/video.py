"""Models that classify films: not implemented, each raises when called."""

from rushlight_vision.models._absent import absent

__all__ = [
    "mc3_18",
    "mvit_v1_b",
    "mvit_v2_s",
    "r2plus1d_18",
    "r3d_18",
    "s3d",
    "swin3d_b",
    "swin3d_s",
    "swin3d_t",
]

mc3_18 = absent("video", "mc3_18")
mvit_v1_b = absent("video", "mvit_v1_b")
mvit_v2_s = absent("video", "mvit_v2_s")
r2plus1d_18 = absent("video", "r2plus1d_18")
r3d_18 = absent("video", "r3d_18")
s3d = absent("video", "s3d")
swin3d_b = absent("video", "swin3d_b")
swin3d_s = absent("video", "swin3d_s")
swin3d_t = absent("video", "swin3d_t")

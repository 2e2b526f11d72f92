"""Resamplings that are compared with torch's: (name, call on nn.functional and tensors, shapes of the tensors)."""

import zlib

import numpy as np

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def arrays_of(name, shapes):
    """Float64 arrays that follow from the name; places of grids reach beyond the image."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [rng.normal(size=s) for s in shapes]


def resamplings():
    for sizes, out, scale in (
        ((5,), (8,), 1.6), ((7,), (3,), 0.5), ((4, 5), (7, 3), 1.7), ((6, 6), (6, 12), 2.0), ((3, 4, 2), (5, 2, 4), 1.5)
    ):  # fmt: skip
        n = len(sizes)
        modes = ["nearest", "nearest-exact", "area", _LINEAR[n]] + ["bicubic"] * (n == 2)
        for mode in modes:
            for corners in (None, True) if mode in (*_LINEAR.values(), "bicubic") else (None,):
                for key, value in (("size", out), ("scale_factor", scale)):
                    arguments = {key: value, "mode": mode, "align_corners": corners}
                    name = f"{mode}|{sizes}|{key}={value}|{corners}"
                    yield name, lambda F, x, a=arguments: F.interpolate(x, **a), [(2, 2, *sizes)]
    for mode in ("bilinear", "bicubic"):
        for sizes, out in (((9, 8), (4, 3)), ((4, 5), (7, 9))):
            arguments = {"size": out, "mode": mode, "antialias": True}
            yield f"{mode}|{sizes}|{out}|antialias", lambda F, x, a=arguments: F.interpolate(x, **a), [(1, 2, *sizes)]


def grids():
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                a = {"mode": mode, "padding_mode": padding, "align_corners": corners}
                name = f"grid|{mode}|{padding}|{corners}"
                yield name, lambda F, x, g, a=a: F.grid_sample(x, g, **a), [(2, 2, 4, 5), (2, 3, 4, 2)]
    a = {"align_corners": False}
    yield "grid|3-D", lambda F, x, g: F.grid_sample(x, g, **a), [(1, 2, 3, 4, 3), (1, 2, 3, 2, 3)]
    yield "affine", lambda F, t: F.affine_grid(t, (2, 3, 4, 5), align_corners=False), [(2, 2, 3)]

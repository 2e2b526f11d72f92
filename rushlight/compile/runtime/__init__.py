"""Running what was captured: by native code, or by the kernels of eager calls."""

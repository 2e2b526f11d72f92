"""For the reference runs, and the processes that they start: torchvision without its compiled half."""

# pyright: reportMissingImports=false

import os
import sys


class DeclaredOperators:
    """Lets a torchvision whose compiled half does not load be imported: its operators are declared, not defined.

    torchvision's wheels for another build of torch have their Python half only; datasets, transforms, models and utils
    need no more.
    """

    NAMES = [
        "nms",
        "qnms",
        "roi_align",
        "qroi_align",
        "_roi_align_backward",
        "ps_roi_align",
        "_ps_roi_align_backward",
        "roi_pool",
        "_roi_pool_backward",
        "ps_roi_pool",
        "_ps_roi_pool_backward",
        "deform_conv2d",
        "_deform_conv2d_backward",
    ]

    asked = False

    def find_spec(self, name, path=None, target=None):
        if name == "torchvision" and not self.asked:
            self.asked = True
            self.declare()

    def declare(self):
        import glob
        import importlib.util

        import torch

        spec = importlib.util.find_spec("torchvision")
        if spec is None or spec.origin is None:
            return
        for compiled in glob.glob(os.path.join(os.path.dirname(spec.origin), "_C*.so")):
            try:
                torch.ops.load_library(compiled)
                return
            except OSError:
                continue
        self.library = torch.library.Library("torchvision", "DEF")  # lives as long as this object
        for name in self.NAMES:
            self.library.define(f"{name}(Tensor input) -> Tensor")


sys.meta_path.insert(0, DeclaredOperators())

"""`python -m tools.vision_exports [NAME ...]`: models of rushlight_vision under ONNX Runtime, as rows of a table.

Exports each model (all that `list_models` knows, without arguments) in evaluation, checks the file, and runs it on another
batch. A row: parameters in millions, seconds to export, and the largest difference from Rushlight's results over their
largest magnitude. Exits with 1 if one exceeds TOLERANCE or fails. Needs the extra `onnx` and `onnxruntime`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight import nn, vision
from rushlight.utils import _pytree as pytree

TOLERANCE = 1e-4
# the smallest that they take: pixels of a side; all others 64
SIDES = {
    "inception_v3": 299,
    "vit": 224,
    "maxvit": 224,
    "vgg": 32,
    "fasterrcnn": 128,
    "maskrcnn": 128,
    "keypointrcnn": 128,
}
DETECTORS = ("rcnn_", "fcos_", "retinanet_", "ssd")


def sample(name: str, seed: int, batch: int) -> Any:
    """A batch of images that the model takes."""
    side = next((pixels for start, pixels in SIDES.items() if name.startswith(start)), 64)
    return torch.rand(batch, 3, side, side, generator=torch.Generator().manual_seed(seed))


def make(name: str) -> nn.Module:
    """The model, in which every layer counts: norms have seen a batch, and gains, biases and scales are no constants."""
    torch.manual_seed(0)
    options = {"weights_backbone": None} if is_dense(name) else {}
    model = vision.models.get_model(name, weights=None, **options)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.ndim == 1 or "layer_scale" in key or not p.any():
                p.add_(0.1 * torch.randn(p.shape))
        if not is_detector(name):
            for m in model.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.momentum = 0.9  # all of it: a channel that is constant in this batch would amplify rounding
            model.train()(sample(name, 3, 2))
    return model.eval()


def is_detector(name: str) -> bool:
    """Whether it takes a list of images of any sizes, and finds a number of boxes that depends on them."""
    return any(part in name for part in DETECTORS)


def is_dense(name: str) -> bool:
    """Whether it has the trunk of another model."""
    return is_detector(name) or name.startswith(("deeplab", "fcn", "lraspp"))


def tensors(value: Any) -> list[Any]:
    """The tensors of a model's results, in the order of its outputs."""
    return [t for t in pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def difference(model: nn.Module, path: Path, given: Any) -> float:
    """The largest difference of a file's results from the model's, over their largest magnitude."""
    import onnxruntime

    with torch.no_grad():
        expected = tensors(model(given))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found: Any = session.run(None, {session.get_inputs()[0].name: given.numpy()})
    worst = 0.0
    for theirs, ours in zip(found, expected, strict=True):
        if tuple(theirs.shape) != tuple(ours.shape):
            raise ValueError(f"a result of shape {theirs.shape} instead of {tuple(ours.shape)}")
        apart = (torch.from_numpy(theirs).double() - ours.double()).abs().max().item()
        worst = max(worst, apart / max(ours.abs().max().item(), 1e-30))
    return worst


def row(name: str) -> tuple[str, bool]:
    """The table's row of a model, and whether it is right."""
    import onnx

    try:
        model = make(name)
        millions = sum(p.numel() for p in model.parameters()) / 1e6
        with tempfile.TemporaryDirectory(prefix="rushlight-onnx-") as folder:
            path, start = Path(folder) / "model.onnx", time.perf_counter()
            dynamic = ({0: "batch"},)
            torch.onnx.export(model, (sample(name, 1, 2),), path, dynamic_shapes=dynamic, dynamo=True)
            seconds = time.perf_counter() - start
            onnx.checker.check_model(str(path))
            worst = difference(model, path, sample(name, 2, 3))
    except Exception as error:
        return f"| {name} | | | {type(error).__name__}: {str(error).splitlines()[0]} |", False
    return f"| {name} | {millions:.1f} | {seconds:.1f} | {worst:.1e} |", worst <= TOLERANCE


def main(names: list[str]) -> int:
    """Print the rows; 1 if one is not right."""
    print("| model | parameters, millions | export, s | largest difference |\n|---|---|---|---|")
    bad = 0
    for name in names or vision.models.list_models():
        text, is_right = row(name)
        print(text, flush=True)
        bad += not is_right
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m tools.vision_exports [NAME ...]`: models of rushlight_vision under ONNX Runtime, as rows of a table.

Exports each model (all that `list_models` knows, without arguments) in evaluation, checks the file, and runs it on another
batch. A row: parameters in millions, seconds to export, and the largest difference from Rushlight's results over their
largest magnitude. Exits with 1 if one exceeds TOLERANCE or fails. Needs the extra `onnx` and `onnxruntime`.
"""

from __future__ import annotations

import operator
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rushlight.vision.models.detection.masks import expand_boxes

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
    "ssd300": 300,
    "ssdlite320": 320,
}
DETECTORS = ("rcnn_", "fcos_", "retinanet_", "ssd")


def sample(name: str, seed: int, batch: int) -> Any:
    """A batch of images that the model takes."""
    side = next((pixels for start, pixels in SIDES.items() if name.startswith(start)), 64)
    return torch.rand(batch, 3, side, side, generator=torch.Generator().manual_seed(seed))


def make(name: str) -> nn.Module:
    """The model, in which every layer counts: norms have seen a batch, and gains, biases and scales are no constants."""
    torch.manual_seed(0)
    options: dict[str, Any] = {"weights_backbone": None} if is_dense(name) else {}
    if is_detector(name) and "ssd" not in name:
        options |= {"min_size": 160, "max_size": 256}  # else images are enlarged to 800 pixels
    if "rcnn" in name:
        options |= {"box_score_thresh": 0.001}
    model = vision.models.get_model(name, weights=None, **options)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.ndim == 1 or "layer_scale" in key or not p.any():
                p.add_(0.1 * torch.randn(p.shape))
        if is_detector(name):
            spread_scores(model, name)
        else:
            for m in model.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.momentum = 0.9  # all of it: a channel that is constant in this batch would amplify rounding
            model.train()(sample(name, 3, 8))  # of two, variances of eight values make rounding ten times as large
    return model.eval()


def spread_scores(model: Any, name: str) -> None:
    """Let the scores differ by more than rounding, which decides else which boxes are found, and in which order."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = 0.9
    model.backbone.train()(sample(name, 3, 2))
    heads = {
        path: layer
        for path, layer in model.named_modules()
        if ("cls" in path or "classification" in path) and isinstance(layer, (nn.Conv2d, nn.Linear))
    }
    for layer in heads.values():
        layer.weight *= 2 / (layer.weight.std() * layer.weight[0].numel() ** 0.5)
    if "fcos" in name or "retinanet" in name:
        lower_scores([layer for path, layer in heads.items() if path.endswith("cls_logits")], model, name)


def lower_scores(layers: list[Any], model: nn.Module, name: str) -> None:
    """Let a sigmoid's largest logits be about 2, where it does not make different ones equal."""
    seen: list[Any] = []
    for layer in layers:
        layer.bias.zero_()
        hook = layer.register_forward_hook(lambda module, given, result: seen.append(result))
        model.eval()(sample(name, 3, 1))
        hook.remove()
        largest, spread = max(float(t.max()) for t in seen), max(float(t.std()) for t in seen)
        layer.weight *= 1.5 / spread
        layer.bias.fill_(2 - 1.5 * largest / spread)


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
        result = model(given)
    expected = tensors(result)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found: Any = session.run(None, {session.get_inputs()[0].name: given.numpy()})
    if isinstance(result, list) and found[0].shape == expected[0].shape:  # of a detector
        found, expected = matched(dict(zip(result[0], found, strict=True)), result[0])
    worst = 0.0
    for theirs, ours in zip(found, expected, strict=True):
        if tuple(theirs.shape) != tuple(ours.shape):
            raise ValueError(f"a result of shape {theirs.shape} instead of {tuple(ours.shape)}")
        apart = (torch.from_numpy(theirs).double() - ours.double()).abs().max().item()
        worst = max(worst, apart / max(ours.abs().max().item(), 1e-30))
    return worst


def matched(found: dict[str, Any], expected: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """What was found, in the order of what was expected: rounding decides which of two almost equal scores is first, or
    among the hundred, and in which pixel a mask begins; three boxes, and masks that begin in another, are left out.
    """
    far = abs(found["boxes"][None] - expected["boxes"].numpy()[:, None]).max(-1)
    far += abs(found["scores"][None] - expected["scores"].numpy()[:, None])
    far += 1e6 * (found["labels"][None] != expected["labels"].numpy()[:, None])
    near = far.min(1) < 0.05 if (far.min(1) >= 0.05).sum() <= 3 else far.min(1) >= 0
    theirs = {key: found[key][far.argmin(1)][near] for key in expected}
    ours = {key: value[torch.from_numpy(near)] for key, value in expected.items()}
    if "masks" in expected:
        corners = (expand_boxes(torch.as_tensor(boxes), 30 / 28).long() for boxes in (theirs["boxes"], ours["boxes"]))
        same = operator.eq(*corners).all(1)
        ours["masks"], theirs["masks"] = ours["masks"][same], theirs["masks"][same.numpy()]
    return list(theirs.values()), list(ours.values())


def row(name: str) -> tuple[str, bool]:
    """The table's row of a model, and whether it is right."""
    import onnx

    try:
        model = make(name)
        millions = sum(p.numel() for p in model.parameters()) / 1e6
        with tempfile.TemporaryDirectory(prefix="rushlight-onnx-") as folder:
            path, start = Path(folder) / "model.onnx", time.perf_counter()
            batch = 1 if is_detector(name) else 2  # the number of images is a number of a detector's graph
            dynamic = None if is_detector(name) else ({0: "batch"},)
            torch.onnx.export(model, (sample(name, 1, batch),), path, dynamic_shapes=dynamic, dynamo=True)
            seconds = time.perf_counter() - start
            onnx.checker.check_model(str(path))
            worst = difference(model, path, sample(name, 2, 1 if is_detector(name) else 3))
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

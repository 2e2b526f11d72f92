"""Writes vision_models.json: facts about torchvision's models at a seed. Needs torch 2.13 and torchvision 0.28 (its
Python files are enough).

For each model: the number of parameters, a hash of the state dict's (key, shape, dtype), the sum of all its values, the
next uniform number, and the output for a random image in eval mode, its first six values and the sum of all magnitudes.
"""

import hashlib
import json
import warnings
from pathlib import Path

import torch
from torchvision import models

NAMES = [
    "resnet18",
    "resnet50",
    "resnext50_32x4d",
    "squeezenet1_0",
    "squeezenet1_1",
    "densenet121",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "mnasnet0_5",
    "mnasnet1_3",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "regnet_y_400mf",
    "regnet_x_400mf",
    "convnext_tiny",
    "swin_t",
    "swin_v2_t",
    "fcn_resnet50",
    "deeplabv3_mobilenet_v3_large",
    "lraspp_mobilenet_v3_large",
]
OPTIONS = {
    "googlenet": {"init_weights": True},
    "inception_v3": {"init_weights": True},
    "fcn_resnet50": {"weights_backbone": None, "aux_loss": True},
    "deeplabv3_mobilenet_v3_large": {"weights_backbone": None},
    "lraspp_mobilenet_v3_large": {"weights_backbone": None},
}


def facts(name):
    torch.manual_seed(3)
    model = models.get_model(name, **OPTIONS.get(name, {})).eval()
    state = model.state_dict()
    described = [(key, list(value.shape), str(value.dtype).split(".")[-1]) for key, value in state.items()]
    after = float(torch.rand(1))
    size = 96 if name == "inception_v3" else 64
    with torch.no_grad():
        out = model(torch.randn(1, 3, size, size))
    out = out["out"] if isinstance(out, dict) else out
    return {
        "options": OPTIONS.get(name, {}),
        "size": size,
        "parameters": sum(p.numel() for p in model.parameters()),
        "state": hashlib.sha256(json.dumps(described).encode()).hexdigest(),
        "sum": sum(float(value.double().sum()) for value in state.values()),
        "after": after,
        "output": [float(value) for value in out.flatten()[:6]] + [float(out.double().abs().sum())],
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    path = Path(__file__).parent / "vision_models.json"
    path.write_text(json.dumps({name: facts(name) for name in NAMES}, indent=1) + "\n")

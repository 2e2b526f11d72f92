"""Writes vision_detection.json: torchvision's detectors of `small_detectors.py`. Needs torch 2.13 and torchvision 0.28 with
its compiled operators."""

import json
import warnings
from pathlib import Path

import small_detectors
import torch
from torchvision import models

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    path = Path(__file__).parent / "vision_detection.json"
    found = {name: small_detectors.facts(name, torch, models) for name in small_detectors.NAMES}
    path.write_text(json.dumps(found, indent=1) + "\n")

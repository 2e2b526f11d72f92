"""Writes tensorboard.json: the events that torch's SummaryWriter writes. Run where torch and tensorboard are installed."""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

sys.path.insert(0, str(Path(__file__).parent.parent / "utils"))
from tensorboard_calls import events_below, make_calls

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make_calls(torch, np, SummaryWriter(folder, purge_step=3))
        rows = events_below(folder)
    path = Path(__file__).with_name("tensorboard.json")
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")

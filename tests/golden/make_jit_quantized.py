"""Writes jit/quantized_script.pt and jit/quantized_trace.pt: programs of a quantized model that torch wrote.

Their record `extra/run` has the numbers of one run: {"input": ..., "result": ...}. Run where torch is installed.
"""

import json
from pathlib import Path

import torch
from quantized_model import example, quantized

FOLDER = Path(__file__).parent / "jit"

if __name__ == "__main__":
    model, x = quantized(torch), example(torch)
    run = json.dumps({"input": x.tolist(), "result": model(x).tolist()})
    torch.jit.script(model).save(str(FOLDER / "quantized_script.pt"), _extra_files={"run": run})
    torch.jit.trace(model, x).save(str(FOLDER / "quantized_trace.pt"), _extra_files={"run": run})

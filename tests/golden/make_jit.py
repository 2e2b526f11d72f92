"""Programs that torch traced and saved, with inputs, results and torch's text of each: python
tests/golden/make_jit.py
"""

import io
import warnings
from pathlib import Path

import torch
from jit_programs import programs

FOLDER = Path(__file__).parent / "jit"


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    for name, (program, example, other) in programs(torch).items():
        traced = torch.jit.trace(program, example, check_trace=False, strict=False)
        graph = getattr(traced, "inlined_graph", traced.graph)
        state = {k: v.clone() for k, v in traced.state_dict().items()} if isinstance(traced, torch.nn.Module) else {}
        buffer = io.BytesIO()
        torch.manual_seed(1)
        saved = io.BytesIO()
        extra = {
            "kinds": "\n".join(node.kind() for node in graph.nodes() if node.kind().startswith("aten")),
            "code": traced.code,
        }
        torch.jit.save(traced, saved, _extra_files=extra)  # before the run that moves running averages
        torch.save({"inputs": other, "results": traced(*other), "state": state}, buffer)
        (FOLDER / f"{name}.pt").write_bytes(saved.getvalue())
        (FOLDER / f"{name}_run.pt").write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main()

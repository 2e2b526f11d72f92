"""Write sobol.json: what torch's SobolEngine draws. Run with torch 2.13: `python tests/golden/make_sobol.py`.

A case is [arguments of the engine, calls]; for each call the result's values, or their digest where there are many.
"""

import hashlib
import json
from pathlib import Path

import torch

CASES = [
    [{"dimension": 1}, [["draw", 5], ["draw", 0], ["draw", 3]]],
    [{"dimension": 3}, [["draw"], ["draw", 2, "float64"], ["fast_forward", 5], ["draw", 2], ["reset"], ["draw_base2", 3]]],
    [{"dimension": 3}, [["fast_forward", 0], ["fast_forward", 70000], ["draw", 3], ["reset"], ["draw", 1]]],
    [{"dimension": 2}, [["fast_forward", 2**30 - 1], ["draw", 1]]],
    [{"dimension": 4, "scramble": True, "seed": 5}, [["draw", 3, "float64"], ["fast_forward", 1], ["draw"], ["reset"], ["draw", 2]]],
    [{"dimension": 2, "scramble": True}, [["draw", 2]]],
    [{"dimension": 1111, "scramble": True, "seed": 3}, [["draw", 100, "float64"], ["fast_forward", 1000003], ["draw", 2]]],
    [{"dimension": 21201}, [["draw", 1], ["draw", 31], ["fast_forward", 1001], ["draw", 2]]],
    [{"dimension": 3}, [["fast_forward", -2], ["draw", 5], ["fast_forward", -1], ["draw", 1]]],
]  # fmt: skip


def outcome(result):
    """Values, with few of them; a digest of the bytes with many; of an engine its place."""
    if isinstance(result, torch.quasirandom.SobolEngine):
        return [repr(result), result.num_generated]
    if result.numel() > 100:
        return [list(result.shape), hashlib.sha256(result.numpy().tobytes()).hexdigest()]
    return result.tolist()


def run(case):
    torch.manual_seed(11)
    arguments, calls = case
    engine = torch.quasirandom.SobolEngine(**arguments)
    results = []
    for name, *rest in calls:
        options = {"dtype": getattr(torch, rest.pop())} if len(rest) == 2 else {}
        results.append(outcome(getattr(engine, name)(*rest, **options)))
    return results


if __name__ == "__main__":
    recorded = [[*case, run(case)] for case in CASES]
    (Path(__file__).parent / "sobol.json").write_text(json.dumps(recorded, indent=0) + "\n")

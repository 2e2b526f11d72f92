"""Writes export.json, what torch prints of exported programs: python tests/golden/make_export.py"""

import json
from pathlib import Path

import torch
from export_programs import programs, text

if __name__ == "__main__":
    found = {name: text(torch, program) for name, program in programs(torch).items()}
    (Path(__file__).parent / "export.json").write_text(json.dumps(found, indent=1) + "\n")

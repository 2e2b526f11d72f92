"""`rushlight check`: which names of a program are absent, from its text alone."""

import sys

from rushlight.alias import install, lookup, torch_names
from rushlight.alias.finder import ABSENT_PACKAGES
from rushlight.alias.lookup import status
from rushlight.alias.program_names import names_in, python_files
from rushlight.alias.suggestions import nearest
from rushlight.core.tensor.tensor import Tensor

__all__ = ["absent_names", "check_programs"]


def check_programs(paths, as_json=False):
    """Print the absent names that the programs at `paths` use; 1 if there are any, 0 if not, 2 for an unreadable path."""
    try:
        uses, errors = names_in([file for path in paths for file in python_files(path)])
    except OSError as error:
        print(f"rushlight check: {error}", file=sys.stderr)
        return 2
    found = absent_names(uses)
    if as_json:
        import json

        print(json.dumps({"missing": found, "unreadable": errors}, indent=1))
    else:
        _print(found, errors)
    return 1 if found or errors else 0


def absent_names(uses):
    """[{"name", "known": whether torch has it, "nearest", "where": ["file:line", ...]}] of the uses that lead nowhere."""
    install(children=False)
    is_absent_method = _method_test(uses)
    found = {}
    for use in uses:
        state = _method_state(use.name, is_absent_method) if use.name.startswith(".") else _state(use.name)
        if state == "here":
            continue
        name = f"torch.Tensor{use.name}" if use.name.startswith(".") else use.name
        item = found.setdefault(name, {"name": name, "known": state == "absent", "nearest": [], "where": []})
        if (place := f"{use.file}:{use.line}") not in item["where"]:
            item["where"].append(place)
    for name in found:
        found[name]["nearest"] = nearest(name)
    told = [item for name, item in sorted(found.items()) if not _is_inside_another(name, found)]
    return sorted(told, key=lambda item: _in_reading_order(item["where"][0]))


def _in_reading_order(place):
    file, _, line = place.rpartition(":")
    return file, int(line)


def _state(name):
    return "absent" if name.split(".")[0] in ABSENT_PACKAGES else status(name)


def _is_inside_another(name, found):
    """`torch.onnx.export` says all that `import torch.onnx` would."""
    return any(other.startswith(name + ".") for other in found)


def _method_test(uses):
    """A function that tells a name that only torch's tensors have as a method, and that Rushlight's have not."""
    theirs = torch_names.of_class("torch.Tensor") or {}
    missing = {n for n, kind in theirs.items() if lookup.is_absent_method(n) or not hasattr(Tensor, n)}
    return (missing - _others()).__contains__


def _others():
    """Attributes of things that are not tensors but occur in programs as well."""
    import argparse
    import pathlib

    import numpy as np

    import rushlight

    kinds = (np.ndarray, np, str, bytes, list, dict, set, tuple, int, float, slice, type(len), argparse.ArgumentParser)
    kinds += (pathlib.Path, rushlight.nn.Module, rushlight.optim.Optimizer, rushlight.utils.data.DataLoader)
    return {name for kind in kinds for name in dir(kind)}


def _method_state(name, is_absent_method):
    return "absent" if is_absent_method(name[1:]) else "here"


def _print(found, errors):
    for item in found:
        note = "" if item["known"] or "._" in item["name"] else " (not in torch 2.13 either)"
        near = f"; nearest: {', '.join(item['nearest'])}" if item["nearest"] else ""
        print(f"{item['where'][0]}: {item['name']} is absent{note}{near}")
        for place in item["where"][1:]:
            print(f"    also {place}")
    for error in errors:
        print(f"not read: {error}")
    if not found and not errors:
        print("all names of torch and torchvision that the programs use are here")

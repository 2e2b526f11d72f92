"""`torch.export`: a module's run as a program that can be kept, loaded, and exported to other formats."""

from __future__ import annotations

from .dims import Dim, dims
from .program import ExportedProgram, export, load, save

__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "save"]

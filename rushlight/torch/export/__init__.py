"""`torch.export`: a module's run as a program that can be kept, loaded, and exported to other formats."""

from __future__ import annotations

from .dims import Dim, dims
from .graph_signature import ExportGraphSignature
from .program import ExportedProgram, export, load, save

__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "dims", "export", "load", "save"]

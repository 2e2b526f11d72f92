"""What people look at: the layers of a model."""

from .summary import summary

__all__ = ["summary"]

"""Lookups by index."""

from __future__ import annotations

from .operators import ops

__all__ = ["embedding", "embedding_bag", "one_hot"]

embedding = ops.embedding
embedding_bag = ops.embedding_bag
one_hot = ops.one_hot

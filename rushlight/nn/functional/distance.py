"""Distances and similarities."""

from __future__ import annotations

from .operators import ops

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]

cosine_similarity = ops.cosine_similarity
pairwise_distance = ops.pairwise_distance
pdist = ops.pdist

"""Tensors made from data, filled, counted, like another one, and diagonal."""

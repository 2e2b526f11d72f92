"""Random tensors, from the streams of `core/random`."""

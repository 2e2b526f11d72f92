"""Quantized tensors: levels with a scale, from float32 tensors and back. Loaded at the first use."""

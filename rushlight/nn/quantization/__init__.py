"""Layers with 8-bit weights, and what makes them of float32 ones: `torch.ao.nn.quantized.dynamic` and `torch.ao.quantization`."""

"""Quantization of traced models: `torch.ao.quantization.quantize_fx`."""

"""Layers of quantized tensors and the products behind them, for models whose activations have fixed scales."""

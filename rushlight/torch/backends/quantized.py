"""`torch.backends.quantized`: engines for quantized operators, of which there is none."""

engine = "none"
supported_engines: list[str] = []

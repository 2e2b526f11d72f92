"""`torch.backends.quantized`: engines for quantized operators. The one there is computes torch's numbers for x86."""

engine = "x86"
supported_engines: list[str] = ["x86"]

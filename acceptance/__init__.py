"""Public PyTorch programs, unmodified, under Rushlight and under torch: the same data, the same seed, compared by number.

Programs are described in `programs/*.toml`; none of their code is here. See `python -m acceptance --help`.
"""

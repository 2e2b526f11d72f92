"""Measurements of Rushlight beside torch. `python -m benchmarks eager|imports|cifar10`; torch is optional."""

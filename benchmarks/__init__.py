"""Measurements of Rushlight against torch. `python -m benchmarks eager|imports|cifar10`; torch is optional."""

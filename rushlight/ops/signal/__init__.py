"""Fourier transforms, short-time Fourier transforms and windows."""

"""Operators over the axes of sequences, images and volumes: convolution, pooling, resampling."""

"""Convolutions of 3 x 3 kernels with 4/9 of the multiplications: Winograd's F(2 x 2, 3 x 3) (decision 23).

`transforms` has the arithmetic of one tile, `product` the products between, `forward` and `gradient` the functions that go
through an image, `weight` those that go through the weight, `bind` says which convolutions are served.
"""

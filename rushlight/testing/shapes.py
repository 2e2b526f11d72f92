"""The tensors that most samples are made of."""

from __future__ import annotations

from .descriptions import F, Fixed

X, Y, Z = F(2, 3), F(2, 3), F(2, 3)
ROW, COLUMN, ONE, V3, V4 = F(3), F(2, 1), F(), F(3), F(4)
POSITIVE = F(2, 3, low=0.2, high=2.0)
UNIT = F(2, 3, low=-0.9, high=0.9)
HALF = F(2, 3, low=0.05, high=0.95)
IMAGE, MAP3, LINE = F(2, 2, 4, 4), F(1, 2, 3, 4, 3), F(2, 2, 6)
SQUARE, BATCH = F(3, 3), F(2, 3, 3)
I01 = Fixed([0, 1])
MASK = Fixed([[True, False, True], [False, True, False]])

"""Products of float32 by the processor's matrix unit (AMX), which multiplies bfloat16: numbers in three parts.

unit.py      whether there is such a unit, and its instructions
split.py     numbers into parts, parts into tiles
product.py   the product: blocks, threads, and what happens where parts cannot say a number
"""

"""Batched tensors: tensors with a dimension that the program which computes with them does not see.

`vmap` runs a function once, on tensors that say they have the shape of one example. Operators find no array in them and
come back here (`_call_operator`), as they do for sparse tensors; a rule calls the same operator on the whole batch, or, where
there is none, for each example. What is recorded for backward is what the rules call.
"""

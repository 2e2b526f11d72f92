"""Products of matrices, vectors and many indices, and what is added to them."""

"""Making tensors, showing the same memory in another shape, joining, padding, copying."""

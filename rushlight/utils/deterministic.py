"""torch.utils.deterministic: whether fresh memory is filled, where `use_deterministic_algorithms` asks for that."""

fill_uninitialized_memory = True

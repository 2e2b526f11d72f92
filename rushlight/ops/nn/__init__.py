"""What networks are made of: activations, softmax, losses, normalisation, embedding, attention."""

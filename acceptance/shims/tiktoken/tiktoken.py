"""`tiktoken` without its downloads: the tokens of a text are its UTF-8 bytes."""


class _Bytes:
    n_vocab = 50257
    eot_token = 50256

    def encode(self, text, allowed_special=frozenset(), **options):
        return list(text.encode())

    def encode_ordinary(self, text):
        return self.encode(text)

    def decode(self, tokens):
        return bytes(token % 256 for token in tokens).decode("utf-8", "replace")


def get_encoding(name):
    return _Bytes()

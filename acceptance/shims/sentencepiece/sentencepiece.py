"""`sentencepiece` for a program that imports it and reads tokens made before."""


class SentencePieceProcessor:
    def __init__(self, **options):
        raise NotImplementedError("the acceptance harness has no sentencepiece models")

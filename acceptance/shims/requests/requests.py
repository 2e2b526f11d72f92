"""`requests` without a network: `get` gives the local file that RUSHLIGHT_ACCEPTANCE_DOWNLOAD names."""

import io
import os


class _Response:
    status_code = 200
    ok = True

    def __init__(self, path):
        with open(path, "rb") as file:
            self.content = file.read()
        self.raw = io.BytesIO(self.content)
        self.text = self.content.decode("utf-8", "replace")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def raise_for_status(self):
        pass

    def iter_content(self, chunk_size=1):
        for at in range(0, len(self.content), chunk_size):
            yield self.content[at : at + chunk_size]


def get(url, **options):
    return _Response(os.environ["RUSHLIGHT_ACCEPTANCE_DOWNLOAD"])

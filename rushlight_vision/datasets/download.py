"""Fetching: a file from the web into a folder, whole or not at all.

Bytes go to `<file>.part`; the file gets its own name only when it is complete and its MD5 is right. A connection that
breaks is taken up again where it stopped (an HTTP Range request), and a server that cannot do that starts over.
"""

import os
from contextlib import contextmanager

USER_AGENT = "rushlight/vision"
CHUNK_BYTES = 1 << 16
TIMEOUT_S = 30.0
ATTEMPTS = 5  # connections without progress before giving up
PAUSE_S = 0.5  # before the second attempt; doubles with each further one


class DownloadError(RuntimeError):
    """A file could not be fetched, or what arrived is not the file; the message says which and what to do."""


def calculate_md5(fpath, chunk_size=1024 * 1024):
    """Hexadecimal MD5 of a file."""
    import hashlib

    digest = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            digest.update(chunk)
    return digest.hexdigest()


def check_md5(fpath, md5, **kwargs):
    """Whether the file's MD5 is `md5`."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath, md5=None):
    """Whether `fpath` is a file and, where `md5` is given, has that MD5."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(url, root, filename=None, md5=None, max_redirect_hops=3):
    """Fetch `url` into the folder `root`, with a progress bar on standard error.

    A file that is there already, with the right MD5 where one is given, is kept. `filename` defaults to the last part
    of the URL. An interrupted download is continued by the next call if `md5` is given to check the joined pieces.

    Raises DownloadError (a RuntimeError) if the server cannot be reached or refuses, if the connection keeps breaking,
    or if the file that arrived has another MD5; RecursionError after more than `max_redirect_hops` redirects; OSError
    if the file cannot be written.
    """
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or os.path.basename(url))
    os.makedirs(root, exist_ok=True)
    if check_integrity(path, md5):
        return
    part = path + ".part"
    if md5 is None:
        _remove(part)  # nothing could tell whether old and new pieces belong together
    resumed = os.path.exists(part)
    transfer = _Transfer(url, part, checked=md5 is not None, max_redirect_hops=max_redirect_hops)
    transfer.run()
    if resumed and not check_md5(part, md5):
        _remove(part)
        transfer.run()
    if md5 is not None and (found := calculate_md5(part)) != md5:
        _remove(part)
        raise DownloadError(
            f"File not found or corrupted. {url} arrived with MD5 {found} where {md5} was expected; nothing was kept. "
            f"Try again, or put the right file at {path} yourself."
        )
    os.replace(part, path)


def download_from_mirrors(urls, root, filename, md5=None):
    """`download_url` from the first of `urls` that delivers; DownloadError with every mirror's answer if none does."""
    answers = []
    for url in urls:
        try:
            return download_url(url, root, filename, md5)
        except DownloadError as error:
            answers.append(f"Tried {url}, got:\n{error}\n")
    raise DownloadError(f"Error downloading {filename}:\n" + "".join(answers))


def download_and_extract_archive(url, download_root, extract_root=None, filename=None, md5=None, remove_finished=False):
    """`download_url`, then `extract_archive` into `extract_root` (`download_root` where it is not given)."""
    from rushlight_vision.datasets.archive import extract_archive

    download_root = os.path.expanduser(download_root)
    filename = filename or os.path.basename(url)
    download_url(url, download_root, filename, md5)
    extract_archive(os.path.join(download_root, filename), extract_root or download_root, remove_finished)


class _Broken(Exception):
    """The connection failed in a way that another attempt may mend."""


class _Transfer:
    """The file `part` being filled from `url`, over as many connections as it takes.

    `checked` says that an MD5 will judge the result. Where none will, a broken piece is continued only if the server
    gave a validator (ETag or date) and so can say that its file is still the same.
    """

    def __init__(self, url, part, checked, max_redirect_hops):
        self.url = url
        self.part = part
        self.checked = checked
        self.validator = None
        self.opener = _opener(max_redirect_hops)

    def run(self):
        """Attempts that got further do not count against ATTEMPTS."""
        import time

        failures = 0
        while True:
            before = self._size()
            try:
                return self._receive()
            except _Broken as error:
                failures = 1 if self._size() > before else failures + 1
                if failures == ATTEMPTS:
                    raise DownloadError(
                        f"Could not download {self.url}: {error} ({self._size()} bytes so far, {ATTEMPTS} attempts "
                        "without progress). Check the network and try again, or fetch the file yourself and put it at "
                        f"{self.part.removesuffix('.part')}."
                    ) from error.__cause__
                time.sleep(PAUSE_S * 2 ** (failures - 1))

    def _receive(self):
        """One connection: ask for what is missing, append it, and return once the file is complete."""
        if not (self.checked or self.validator):
            _remove(self.part)
        have = self._size()
        with self._open(have) as response:
            partial = response.status == 206
            if partial and _range_start(response.headers) != have:
                _remove(self.part)
                raise _Broken(f"the server did not continue after {have} bytes, as it was asked to")
            have = have if partial else 0
            self.validator = _validator(response.headers)
            length = response.headers.get("Content-Length", "")
            total = have + int(length) if length.isdigit() else None
            have += self._append(response, have, total)
        if total is not None and have < total:
            raise _Broken(f"the connection closed after {have} of {total} bytes")

    def _append(self, response, have, total):
        """Write what the response delivers after the first `have` bytes; the number of bytes written."""
        from http.client import HTTPException

        written = 0
        with open(self.part, "ab" if have else "wb") as file, _bar(have, total) as advance:
            while True:
                try:
                    chunk = response.read(CHUNK_BYTES)
                except (OSError, HTTPException) as error:
                    raise _Broken(f"the connection broke ({error!r})") from error
                if not chunk:
                    return written
                file.write(chunk)
                written += len(chunk)
                advance(len(chunk))

    def _open(self, have):
        """The response to a request for all but the first `have` bytes."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if self.validator:
                headers["If-Range"] = self.validator
        try:
            return self.opener.open(Request(self.url, headers=headers), timeout=TIMEOUT_S)
        except HTTPError as error:
            error.close()
            if error.code == 416 and have:  # `part` is no beginning of the server's file
                _remove(self.part)
            elif error.code not in (408, 429) and error.code < 500:
                raise DownloadError(
                    f"Could not download {self.url}: the server answered {error.code} {error.reason}. Check the "
                    "address, or fetch the file yourself."
                ) from error
            raise _Broken(f"the server answered {error.code} {error.reason}") from error
        except (OSError, HTTPException) as error:
            raise _Broken(f"the server cannot be reached ({getattr(error, 'reason', error)})") from error

    def _size(self):
        return os.path.getsize(self.part) if os.path.exists(self.part) else 0


@contextmanager
def _bar(have, total):
    """A function that takes the number of bytes that came, and shows it in a terminal, where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda count: None
        return
    with tqdm(total=total, initial=have, unit="B", unit_scale=True, disable=None) as bar:  # None: unless in a terminal
        yield bar.update


def _opener(max_redirect_hops):
    from urllib.request import HTTPRedirectHandler, build_opener

    class CountedRedirects(HTTPRedirectHandler):
        def redirect_request(self, req, fp, code, msg, headers, newurl):
            hops = getattr(req, "hops", 0) + 1
            if hops > max_redirect_hops:
                fp.close()
                raise RecursionError(
                    f"Request to {getattr(req, 'first_url', req.full_url)} exceeded {max_redirect_hops} redirects. "
                    f"The last redirect points to {newurl}."
                )
            following = super().redirect_request(req, fp, code, msg, headers, newurl)
            if following is not None:
                vars(following).update(hops=hops, first_url=getattr(req, "first_url", req.full_url))
            return following

    return build_opener(CountedRedirects)


def _validator(headers):
    """What names this version of the server's file: a strong ETag, or the date of its last change."""
    tag = headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _range_start(headers):
    unit, _, span = headers.get("Content-Range", "").partition(" ")
    start = span.partition("-")[0]
    return int(start) if unit == "bytes" and start.isdigit() else None


def _remove(path):
    if os.path.exists(path):
        os.remove(path)

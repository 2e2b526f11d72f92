"""A web server on this machine for the tests of downloading."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Site:
    """What the server has and how it misbehaves."""

    def __init__(self):
        self.files = {}  # path -> bytes
        self.redirects = {}  # path -> path
        self.statuses = []  # answers for the next requests in place of files
        self.breaks = []  # for the next responses, after how many bytes the connection closes
        self.ranges = True  # whether Range is understood
        self.shift = 0  # added to where a Range response begins
        self.requests = []  # (path, Range header or None)
        self.address = None

    def url(self, path):
        return f"{self.address}/{path}"


def _handler(site):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self):
            path = self.path.lstrip("/")
            wanted = self.headers.get("Range")
            site.requests.append((path, wanted))
            if site.statuses:
                return self._empty(site.statuses.pop(0))
            if path in site.redirects:
                return self._empty(302, ("Location", site.url(site.redirects[path])))
            if path not in site.files:
                return self._empty(404)
            content = site.files[path]
            tag = f'"{hash(content)}"'
            start = 0
            if wanted and site.ranges and self.headers.get("If-Range", tag) == tag:
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
                if start >= len(content):
                    return self._empty(416)
            start = max(0, start + site.shift) if start else 0
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.send_header("ETag", tag)
            self.end_headers()
            end = start + site.breaks.pop(0) if site.breaks else len(content)
            self.wfile.write(content[start:end])

        def _empty(self, status, *headers):
            self.send_response(status)
            for header in headers:
                self.send_header(*header)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    return Handler


@pytest.fixture
def site(monkeypatch):
    from rushlight.vision.datasets import download

    monkeypatch.setattr(download, "PAUSE_S", 0.0)
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()

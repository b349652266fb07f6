"""A provider on this machine: it answers agents from a script and records what they sent.

It listens on 127.0.0.1 only and serves the streams of the Messages API and the Responses API. The
first part of a request's path names the run that it belongs to, so one server serves them all. A
run may send so many requests and no more: an agent that goes in circles is told to stop.
"""

from __future__ import annotations

import itertools
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

import streams
from streams import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STREAMS: dict[str, Callable[..., Iterator[streams.Event]]] = {
    "/v1/messages": streams.anthropic,
    "/v1/responses": streams.responses,
}
MAX_REQUESTS = 60
CHARACTERS_A_TOKEN = 4
SILENCE = 30
"""Seconds after which a connection is closed that says nothing."""


@dataclass
class Run:
    """One start of an agent: what it is answered, and what it sent."""

    script: list[Reply] = field(default_factory=list)
    last: Reply = field(default_factory=lambda: Reply("Done."))
    """The answer when the script is at its end."""
    aside: Callable[[dict[str, Any]], Reply | None] = lambda _body: None
    """Answers requests that are no part of the conversation, without a line of the script."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The requests that came, in order."""


class Loopback:
    """The server; a context manager, as is each run of it."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        handler = type("Handler", (_Handler,), {"loopback": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def serving(self, run: Run) -> Iterator[str]:
        """Serve a run, below the base URL that this gives."""
        name = f"run{next(self._numbers)}"
        self._runs[name] = run
        try:
            yield f"http://127.0.0.1:{self._server.server_port}/{name}"
        finally:
            del self._runs[name]

    def run_of(self, path: str) -> tuple[Run | None, str]:
        """Part a request's path into its run, if that is served now, and the rest."""
        name, _, rest = path.partition("?")[0].lstrip("/").partition("/")
        return self._runs.get(name), f"/{rest}"

    def answer(self, run: Run, body: dict[str, Any]) -> tuple[Reply, int] | None:
        """Record a request; return its reply and the number of it, None if it is one too many."""
        with self._lock:
            run.bodies.append(body)
            if len(run.bodies) > MAX_REQUESTS:
                return None
            reply = run.aside(body)
            if reply is None:
                reply = run.script.pop(0) if run.script else run.last
            return reply, next(self._numbers)


class _Handler(BaseHTTPRequestHandler):
    loopback: Loopback
    protocol_version = "HTTP/1.1"
    timeout = SILENCE

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        run, rest = self.loopback.run_of(self.path)
        stream = STREAMS.get(rest)
        if run is None:
            self._refuse(404, "no such run")
        elif rest.endswith("/count_tokens"):
            self._json(200, {"input_tokens": tokens(raw)})
        elif stream is None:
            self._refuse(404, "not served here")
        else:
            self._serve(stream, run, json.loads(raw), tokens(raw))

    def do_GET(self) -> None:
        self._refuse(404, "not served here")

    def do_HEAD(self) -> None:
        self._refuse(404, "not served here")

    def _serve(self, stream, run: Run, body: dict[str, Any], size: int) -> None:
        answered = self.loopback.answer(run, body)
        if answered is None:
            self._refuse(400, f"more than {MAX_REQUESTS} requests in one run")
            return
        reply, number = answered
        events = stream(reply, number, body.get("model", ""), size)
        self._send(200, "text/event-stream", b"".join(map(_event, events)))

    def _refuse(self, status: int, why: str) -> None:
        error = {"type": "invalid_request_error", "message": why}
        self._json(status, {"type": "error", "error": error})

    def _json(self, status: int, value: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing: what was sent is recorded."""


def tokens(raw: bytes) -> int:
    """Return about how many tokens a request has, for the usage that the agent writes down."""
    return len(raw) // CHARACTERS_A_TOKEN


def _event(event: streams.Event) -> bytes:
    name, data = event
    return f"event: {name}\ndata: {json.dumps({'type': name} | data)}\n\n".encode()

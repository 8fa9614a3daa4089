"""A receiver of OpenTelemetry's spans for tests: OTLP/HTTP, its messages read field by field."""

import gzip
import http.server
import threading

# Fields of opentelemetry/proto/{collector/trace,trace,common,resource}/v1: number -> name and what it holds.
VALUE = {1: ("string", "text"), 2: ("bool", "int"), 3: ("int", "int")}
PAIR = {1: ("key", "text"), 2: ("value", VALUE)}
EVENT = {1: ("time", "fixed"), 2: ("name", "text"), 3: ("attributes", PAIR)}
STATUS = {2: ("message", "text"), 3: ("code", "int")}
SPAN = {1: ("trace", "bytes"), 2: ("id", "bytes"), 4: ("parent", "bytes"), 5: ("name", "text"), 7: ("start", "fixed"),
        8: ("end", "fixed"), 9: ("attributes", PAIR), 11: ("events", EVENT), 15: ("status", STATUS)}
REQUEST = {1: ("resources", {1: ("resource", {1: ("attributes", PAIR)}), 2: ("scopes", {2: ("spans", SPAN)})})}


def varint(raw, at):
    value = shift = 0
    while True:
        value |= (raw[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if raw[at - 1] < 0x80:
            return value, at


def message(raw, fields):
    """Returns the fields of a message: a list of values for each name."""
    found, at = {}, 0
    while at < len(raw):
        tag, at = varint(raw, at)
        if tag & 7 == 0:
            value, at = varint(raw, at)
            value -= (value >> 63) << 64
        else:
            size, at = (8, at) if tag & 7 == 1 else (4, at) if tag & 7 == 5 else varint(raw, at)
            value, at = raw[at:at + size], at + size
        name, kind = fields.get(tag >> 3, (None, None))
        if name is None:
            continue
        if isinstance(kind, dict):
            value = message(value, kind)
        elif kind == "text":
            value = value.decode()
        elif kind == "fixed":
            value = int.from_bytes(value, "little")
        found.setdefault(name, []).append(value)
    return found


def attributes(pairs):
    found = {}
    for pair in pairs:
        ((kind, (value,)),) = pair["value"][0].items()
        found[pair["key"][0]] = bool(value) if kind == "bool" else value
    return found


def spans(raw):
    """Yields the spans of a request."""
    for group in message(raw, REQUEST).get("resources", []):
        resource = attributes(group["resource"][0].get("attributes", []))
        for scope in group["scopes"]:
            for span in scope["spans"]:
                yield {
                    "resource": resource, "name": span["name"][0], "trace": span["trace"][0],
                    "id": span["id"][0], "parent": span.get("parent", [None])[0],
                    "start": span["start"][0], "end": span["end"][0],
                    "attributes": attributes(span.get("attributes", [])), "status": span["status"][0],
                    "events": {e["name"][0]: attributes(e.get("attributes", [])) for e in span.get("events", [])},
                }


class Receiver:
    """Keeps the spans that it gets, and the headers of its requests."""

    def __init__(self):
        self.spans, self.headers, receiver = [], [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or self.chunks()
                receiver.headers.append(dict(self.headers))
                receiver.spans.extend(spans(gzip.decompress(raw)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def chunks(self):
                raw = b""
                while True:
                    size = int(self.rfile.readline(), 16)
                    raw += self.rfile.read(size)
                    self.rfile.readline()
                    if not size:
                        return raw

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "http://127.0.0.1:%d" % server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def of(self, pid, name):
        """Returns the spans of a kernel with a name, in the order in which they began."""
        return sorted((s for s in list(self.spans) if s["resource"]["process.pid"] == pid and s["name"] == name),
                      key=lambda s: s["start"])

"""How the hub's service reaches an agent: over a Unix socket of root's, or over the network, where both prove that they
have the token without sending it (cmd/tracer/internal/agent/users/proof.go)."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import struct

from tornado.httpclient import HTTPRequest
from tornado.httputil import HTTPHeaders
from tornado.simple_httpclient import SimpleAsyncHTTPClient
from tornado.tcpclient import TCPClient

from . import _hub_answers
from ._values import decode, list_of, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tornado.httpclient import HTTPResponse
    from tornado.iostream import IOStream

_AT_ONCE = 50     # requests at a time
_ROOT = 0
_HOST = "agent"   # in the URL of a Unix socket: nobody looks it up


class Stranger(OSError):
    """Whoever answers is not the agent."""


def sign(key: bytes, *texts: str) -> str:
    """Return what only somebody with a key can make of texts."""
    return hmac.new(key, "\n".join(texts).encode(), hashlib.sha256).hexdigest()


def key_of(token: str) -> bytes:
    """Return the key of a token."""
    return hashlib.sha256(token.encode("ascii")).digest()


def _bounded(**more: Any) -> SimpleAsyncHTTPClient:
    return SimpleAsyncHTTPClient(
        force_instance=True, max_clients=_AT_ONCE, max_buffer_size=2 * _hub_answers.MOST_BYTES,
        max_header_size=16 << 10, max_body_size=_hub_answers.MOST_BYTES, **more,
    )


class Network:
    """Agents at addresses of the network. Nothing is believed that has no proof, and the token is never sent."""

    def __init__(self, patience: float) -> None:
        self._client, self._patience = _bounded(), patience

    async def ask(self, url: str, query: str, user: str, token: str) -> HTTPResponse:
        """Return what the agent at a URL answers about a user. Raise Stranger where it proves nothing."""
        key, nonce, address = key_of(token), secrets.token_hex(16), url.split("//", 1)[1]
        got = await self._get("%s/hub/prove?address=%s&nonce=%s" % (url, address, nonce))
        if got.code != 200:
            return got
        proves = decode(got.body)
        own = text(proves["nonce"])
        want = sign(key, "agent", address, nonce, own)
        if not any(hmac.compare_digest(want.encode(), text(one).encode()) for one in list_of(proves["proofs"])[:16]):
            raise Stranger("whoever answers there has not the token")
        proof = "Proof %s %s %s %s" % (address, nonce, own, sign(key, "hub", address, nonce, own, user))
        got = await self._get("%s/hub/user?%s" % (url, query), proof)
        if got.code == 200:
            sum_of = hashlib.sha256(got.body).hexdigest()
            signed = got.headers.get("Ipytracer-Proof", "")
            if not hmac.compare_digest(signed.encode(), sign(key, "answer", address, nonce, own, sum_of).encode()):
                raise Stranger("the answer is not the agent's")
        return got

    async def _get(self, url: str, proof: str = "") -> HTTPResponse:
        return await _fetch(self._client, url, self._patience, proof)


class _Rooted(TCPClient):  # type: ignore[misc]
    """Connects to one Unix socket, if it is root's or this user's own."""

    def __init__(self, path: str) -> None:
        super().__init__(resolver=self)
        self._path = path

    async def resolve(self, *_: Any) -> list[tuple[int, Any]]:
        """Return the socket as the address of whatever is asked for."""
        return [(socket.AF_UNIX, self._path)]

    async def connect(self, *args: Any, **more: Any) -> IOStream:
        """Connect. Nothing is sent to a socket of somebody else's."""
        stream = await super().connect(*args, **more)
        form = struct.Struct("3i")
        _, user, _ = form.unpack(stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size))
        if user not in (_ROOT, os.geteuid()):
            stream.close()
            raise Stranger("the socket is user %d's, and not root's" % user)
        return stream


class Socket:
    """The agent at a Unix socket of root's: it has the token once the kernel has said that root listens there."""

    def __init__(self, path: str, patience: float) -> None:
        self._client, self._patience = _bounded(), patience
        self._client.tcp_client = _Rooted(path)

    async def ask(self, _: str, query: str, user: str, token: str) -> HTTPResponse:
        """Return what the agent answers about a user. Raise Stranger where the socket is not root's."""
        url = "http://%s/hub/user?%s" % (_HOST, query)
        return await _fetch(self._client, url, self._patience, "Bearer " + token)


async def _fetch(client: SimpleAsyncHTTPClient, url: str, patience: float, authorization: str) -> HTTPResponse:
    request = HTTPRequest(
        url, headers=HTTPHeaders({"Authorization": authorization} if authorization else {}), connect_timeout=patience,
        request_timeout=patience, follow_redirects=False, decompress_response=False,
    )
    return await client.fetch(request, raise_error=False)

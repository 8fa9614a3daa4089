"""A service of JupyterHub that shows each user the own kernels, the own heaviest cells and the own last death:

    python3 -m ipytracer.hub --token-file FILE [AGENT ...]

The hub starts it, or an administrator does with the hub's variables (JUPYTERHUB_API_TOKEN, JUPYTERHUB_SERVICE_PREFIX,
…). It needs JupyterHub's package, and tornado, which that brings. Who the user is, the hub alone says, by its OAuth.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import sys
from urllib.parse import urlsplit

from jupyterhub.services.auth import HubOAuthCallbackHandler, HubOAuthenticated
from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler, authenticated

from . import _hub_page
from ._hub_ask import DEFAULT, Agents, Target, read_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PORT = 10101


class _Plain(RequestHandler):  # type: ignore[misc]
    """Answers that no other page can hold, no cache keeps, and in which a browser runs nothing."""

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Content-Security-Policy", _hub_page.POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("X-Frame-Options", "DENY")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    def write_error(self, status_code: int, **_: Any) -> None:
        """Write an error. Nothing of the request is in it."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("%d: %s\n" % (status_code, self._reason))


def _refuse_tokens(handler: RequestHandler, parameters: bool) -> None:
    """Refuse a request with a token of its own, or with other parameters than it may have."""
    if parameters or "token" in handler.request.arguments or "Authorization" in handler.request.headers:
        raise HTTPError(400, reason="No parameters and no tokens")


class Mine(HubOAuthenticated, _Plain):  # type: ignore[misc]
    """The page of the user who has logged in at the hub."""

    def initialize(self, agents: Agents) -> None:
        self.agents = agents

    async def prepare(self) -> None:
        """Refuse a request that says anything beside its cookie: a token in the address or in a header would be an
        identity that the browser's user has not logged in with."""
        _refuse_tokens(self, bool(self.request.query))
        waits = super().prepare()
        if inspect.isawaitable(waits):
            await waits

    @authenticated  # type: ignore[misc]
    async def get(self) -> None:
        who = self.current_user
        if who.get("kind", "user") != "user":
            raise HTTPError(403, reason="Only a user has this page")
        self.write(_hub_page.page(who["name"], await self.agents.about(who["name"])))


class Callback(_Plain, HubOAuthCallbackHandler):  # type: ignore[misc]
    """Where the hub sends a user who has logged in."""

    async def prepare(self) -> None:
        """Refuse tokens here as well."""
        _refuse_tokens(self, False)
        waits = super().prepare()
        if inspect.isawaitable(waits):
            await waits


class Nothing(_Plain):
    """Every other address."""

    def prepare(self) -> None:
        raise HTTPError(404)


def application(agents: Agents, prefix: str) -> Application:
    """Return the service below a prefix."""
    return Application(
        [(prefix, Mine, {"agents": agents}), (prefix + "oauth_callback", Callback)],
        cookie_secret=os.urandom(32), default_handler_class=Nothing,
    )


async def _serve(agents: list[Target], token_file: str, host: str | None) -> None:
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/").rstrip("/") + "/"
    url = urlsplit(os.environ.get("JUPYTERHUB_SERVICE_URL") or "http://127.0.0.1:%d" % _PORT)
    server = HTTPServer(
        application(Agents(agents, token_file), prefix),
        max_body_size=1 << 10, max_header_size=64 << 10, idle_connection_timeout=60, body_timeout=5,
    )
    server.listen(url.port or _PORT, host or url.hostname or "127.0.0.1")
    await asyncio.Event().wait()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python3 -m ipytracer.hub", description=__doc__.split("\n")[0])
    parser.add_argument("--token-file", required=True, help="the file with the token that the agents know")
    parser.add_argument("--listen", metavar="ADDRESS", help="where to listen, with the port of the service's URL")
    parser.add_argument("agents", nargs="*", metavar="AGENT", default=[DEFAULT],
                        help="the agents: unix:PATH or http://HOST:9466; %s if none is named" % DEFAULT)
    flags = parser.parse_args(arguments)
    try:
        targets = [Target(url) for url in flags.agents]
        read_token(flags.token_file)
    except (OSError, ValueError) as e:
        parser.error(str(e))
    asyncio.run(_serve(targets, flags.token_file, flags.listen))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Asks the agents of all nodes about one user of JupyterHub, at once, with bounds on time, size and number."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import stat
import time
from urllib.parse import quote, urlsplit

from . import _hub_answers
from ._hub_door import Network, Socket, Stranger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._hub_answers import Answer, Found

_LOG = logging.getLogger("ipytracer.hub")
_PATIENCE = 5.0        # seconds that an agent has
_REST = 30.0           # seconds for which an agent that was silent for that long is asked for one user at a time
_FRESH = 5.0           # seconds for which what was found about a user is shown again
_RESOLVED = 10.0       # the same for the addresses of names
_MOST_AGENTS = 1000
_MOST_USERS = 200      # of whom what was found is kept
_MOST_ASKING = 8       # users about whom the agents are asked at a time
_MOST_AT_ONCE = 50     # agents that are asked at a time, of all users
_TOKEN = re.compile(rb"[!-~]{32,1024}")


DEFAULT = "unix:/run/ipytracer-hub/agent.sock"


class Target:
    """The address of agents: unix:PATH, a socket of root's on this machine, or http://HOST:PORT. Every address that
    HOST has is an agent, so the name of a headless Service in Kubernetes stands for all of its pods. With https, the
    name is one agent."""

    def __init__(self, url: str) -> None:
        """Take an address. Raise ValueError, with a sentence, for anything else."""
        parts = urlsplit(url)
        self.path = ""
        if url.startswith("unix:/") and not url.startswith("unix://"):
            self.path = self.host = url[len("unix:"):]
            return
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.path not in ("", "/")
            or parts.query
            or parts.fragment
            or "@" in parts.netloc
        ):
            raise ValueError("%.100r is no address of agents such as %s" % (url, DEFAULT))
        self.secure, self.host = parts.scheme == "https", parts.hostname
        self.port = parts.port or (443 if self.secure else 9466)
        self._known: tuple[str, ...] = ()
        self._until = 0.0

    async def addresses(self) -> tuple[str, ...]:
        """Return the addresses as they stand in a URL. Raise OSError where the name has none."""
        if self.path:
            return ("unix:" + self.path,)
        if self.secure:
            return ("https://%s:%d" % (_bracketed(self.host), self.port),)
        if time.monotonic() >= self._until:
            self._known = tuple("http://%s:%d" % (_bracketed(one), self.port) for one in await self._resolve())
            self._until = time.monotonic() + _RESOLVED
        return self._known

    async def _resolve(self) -> list[str]:
        """Return the addresses of the host: those of IPv4, if it has any. An agent that has both is asked once."""
        loop = asyncio.get_running_loop()
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                found = await asyncio.wait_for(
                    loop.getaddrinfo(self.host, self.port, family=family, type=socket.SOCK_STREAM), _PATIENCE
                )
            except asyncio.TimeoutError:
                raise OSError("its addresses are not known in time") from None
            except socket.gaierror as e:
                if family == socket.AF_INET6:
                    raise OSError(str(e)) from e
                continue
            return sorted({str(one[4][0]) for one in found})
        return []


def _bracketed(host: str) -> str:
    return "[%s]" % host if ":" in host else host


def read_token(path: str) -> str:
    """Return the token in a file. Raise OSError or ValueError, with a sentence that has nothing of the token."""
    with open(path, "rb") as f:
        mode = os.fstat(f.fileno()).st_mode
        data = f.read(1027)
    if not stat.S_ISREG(mode) or mode & 0o007:
        raise ValueError("%s: others than its owner and group can read or write it; chmod o= FILE" % path)
    data = data.rstrip(b"\r\n")
    if not _TOKEN.fullmatch(data):
        raise ValueError("%s: a token has from 32 to 1024 visible characters of ASCII; openssl rand -hex 32" % path)
    return data.decode("ascii")


class Agents:
    """The agents of all nodes."""

    def __init__(self, targets: Sequence[Target], token_file: str) -> None:
        self._targets, self._token_file = targets, token_file
        self._network = Network(_PATIENCE)
        self._sockets = {"unix:" + t.path: Socket(t.path, _PATIENCE) for t in targets if t.path}
        self._kept: dict[str, tuple[float, asyncio.Future[Found]]] = {}
        self._asking = asyncio.Semaphore(_MOST_ASKING)
        self._at_once = asyncio.Semaphore(_MOST_AT_ONCE)
        self._rests: dict[str, float] = {}   # agents that were silent, and until when nobody waits for them

    async def about(self, user: str) -> Found:
        """Return what the agents have about a user. A user who asks again while the agents are asked, or within some
        seconds, gets the same."""
        kept = self._kept.get(user)
        if kept is None or kept[1].done() and time.monotonic() - kept[0] >= _FRESH:
            while len(self._kept) >= _MOST_USERS:
                del self._kept[next(iter(self._kept))]
            kept = time.monotonic(), asyncio.ensure_future(self._ask_all(user))
            self._kept.pop(user, None)
            self._kept[user] = kept
        return await asyncio.shield(kept[1])

    async def _ask_all(self, user: str) -> Found:
        async with self._asking:
            token = read_token(self._token_file)
            urls: dict[str, None] = {}
            lost = 0
            for target in self._targets:
                try:
                    urls.update(dict.fromkeys(await target.addresses()))
                except OSError as e:
                    _LOG.warning("the agents of %s are not known: %s", target.host, e)
                    lost += 1
            asked = list(urls)[:_MOST_AGENTS]
            if len(asked) < len(urls):
                _LOG.warning("%d of %d agents are not asked", len(urls) - len(asked), len(urls))
            answers = await asyncio.gather(*(self._ask(url, user, token) for url in asked))
            return _hub_answers.join([*answers, *[None] * (lost + len(urls) - len(asked))])

    async def _ask(self, url: str, user: str, token: str) -> Answer | None:
        """Return what an agent answers, None if it does not, or not as an agent does. One that was silent has others
        wait once in a while, and not each user."""
        if time.monotonic() < self._rests.get(url, 0.0):
            return None
        if url in self._rests:
            self._rests[url] = time.monotonic() + _REST
        try:
            return await asyncio.wait_for(self._ask_in_turn(url, user, token), 2 * _PATIENCE)
        except Stranger as e:
            _LOG.error("%s: %s; it was not sent the token, and nothing that it says is shown", url, e)
        except (OSError, asyncio.TimeoutError) as e:
            _LOG.warning("the agent at %s does not answer: %s", url, e)
        except Exception as e:  # whatever comes from outside: one agent fewer
            _LOG.warning("the agent at %s does not answer as an agent: %s", url, type(e).__name__)
        return None

    async def _ask_in_turn(self, url: str, user: str, token: str) -> Answer | None:
        door: Network | Socket = self._sockets.get(url, self._network)
        async with self._at_once:
            began = time.monotonic()
            try:
                got = await door.ask(url, "name=" + quote(user, safe=""), user, token)
            except BaseException:
                if time.monotonic() - began >= _PATIENCE:
                    if len(self._rests) >= _MOST_AGENTS:
                        self._rests.clear()
                    self._rests[url] = time.monotonic() + _REST
                raise
        self._rests.pop(url, None)
        if got.code != 200:
            _LOG.warning("the agent at %s answers with status %d", url, got.code)
            return None
        return _hub_answers.answer(got.body, user)

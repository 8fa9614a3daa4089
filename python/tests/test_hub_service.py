"""The addresses of the hub's service: who is shown what, and which requests are refused."""

import asyncio
import json
import sys
import types
import unittest
from unittest import mock

from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import RequestHandler

from ipytracer import _hub_ask, _hub_page

from .test_hub import answer, found


class Login:
    """Stands for JupyterHub's mixin: the user is the one of the test's header."""

    def get_current_user(self):
        who = self.request.headers.get("X-Test")
        return who and json.loads(who)

    def get_login_url(self):
        return "/hub/login"


class Addresses(unittest.TestCase):
    def test_addresses(self):
        """Every address of a name is an agent; those of IPv6 count only where there are no others."""
        async def resolve(url, **families):
            loop = asyncio.get_running_loop()

            async def getaddrinfo(host, port, family, type):
                if not families.get(family.name):
                    raise _hub_ask.socket.gaierror("none")
                return [(family, type, 6, "", (one, port)) for one in families[family.name]]
            with mock.patch.object(loop, "getaddrinfo", getaddrinfo):
                return await _hub_ask.Target(url).addresses()
        both = {"AF_INET": ["10.0.0.2", "10.0.0.1", "10.0.0.1"], "AF_INET6": ["fd00::1"]}
        self.assertEqual(asyncio.run(resolve("http://agents", **both)),
                         ("http://10.0.0.1:9466", "http://10.0.0.2:9466"))
        self.assertEqual(asyncio.run(resolve("http://agents:1", AF_INET6=["fd00::1"])), ("http://[fd00::1]:1",))
        self.assertEqual(asyncio.run(resolve("https://agents/", **both)), ("https://agents:443",))
        self.assertEqual(asyncio.run(resolve("unix:/run/x.sock")), ("unix:/run/x.sock",))
        for wrong in ("agents:9464", "unix:x", "unix://x",
                      "ftp://x", "http://", "http://u:p@x", "http://x/path", "http://x?y", "http://x#y"):
            with self.assertRaises(ValueError):
                _hub_ask.Target(wrong)


class Service(unittest.TestCase):
    """The service's addresses. JupyterHub's own part is tried in `make test-fleet`, with a real one."""

    def setUp(self):
        auth = types.ModuleType("jupyterhub.services.auth")
        auth.HubOAuthenticated, auth.HubOAuthCallbackHandler = Login, RequestHandler
        modules = {"jupyterhub": types.ModuleType("jupyterhub"), "jupyterhub.services": types.ModuleType("services"),
                   "jupyterhub.services.auth": auth}
        sys.modules.pop("ipytracer.hub", None)
        with mock.patch.dict(sys.modules, modules):
            from ipytracer import hub
        self.addCleanup(sys.modules.pop, "ipytracer.hub", None)
        self.hub = hub

    def get(self, path, who=None, **headers):
        class Agents:
            async def about(self, user):
                return found(answer()) if user == "ada" else found(answer(kernels=[], cells=[], deaths=[]))

        async def ask():
            socket, port = bind_unused_port()
            server = HTTPServer(self.hub.application(Agents(), "/services/memory/"))
            server.add_socket(socket)
            got = await AsyncHTTPClient().fetch(
                "http://127.0.0.1:%d%s" % (port, path), raise_error=False, follow_redirects=False,
                headers=dict(headers, **({"X-Test": json.dumps(who)} if who else {})))
            server.stop()
            return got
        got = asyncio.run(ask())
        self.assertEqual(got.headers["Content-Security-Policy"], _hub_page.POLICY)
        self.assertEqual((got.headers["Cache-Control"], got.headers["X-Frame-Options"]), ("no-store", "DENY"))
        return got.code, got.body.decode()

    def test_pages(self):
        ada, page = {"name": "ada", "kind": "user", "admin": True}, "/services/memory/"
        code, text = self.get(page, ada)
        self.assertEqual((code, "In[3]" in text), (200, True))
        code, text = self.get(page, {"name": "bob", "kind": "user"})
        self.assertEqual((code, "In[3]" in text), (200, False))
        for path, who, headers, want in (
            (page, None, {}, 302), (page + "?user=bob", ada, {}, 400), (page + "?name=bob", ada, {}, 400),
            (page + "?token=x", ada, {}, 400), (page, ada, {"Authorization": "token x"}, 400),
            (page + "oauth_callback?code=x&state=y&token=x", ada, {}, 400),
            (page + "oauth_callback?code=x&state=y", ada, {"Authorization": "token x"}, 400),
            (page, {"name": "ada", "kind": "service"}, {}, 403), (page + "bob", ada, {}, 404), ("/", ada, {}, 404),
        ):
            code, text = self.get(path, who, **headers)
            self.assertEqual((code, "In[3]" in text), (want, False), path)

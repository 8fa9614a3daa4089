"""The page of JupyterHub's users (`python3 -m ipytracer.hub`): who logs in at the hub sees the own kernels and cells
with the figures of the reports, and nobody else's.
"""

import hashlib
import hmac
import html
import http.cookiejar
import json
import os
import re
import shutil
import signal
import urllib.error
import urllib.parse
import urllib.request

from cells import need
from engine import holds, until

TOKEN = "the-token-between-the-page-and-its-agents"
HUBS = "127.0.0.1:9466"            # where the agent answers hubs
NOBODY = "http://127.0.0.1:9"      # no agent is there
NOTEBOOK = "/srv/<train>.ipynb"
MOST = 10                          # cells of a user that an agent keeps
SERVICE = {
    "name": "memory", "url": "http://127.0.0.1:10101", "oauth_no_confirm": True,
    "command": ["python3", "-m", "ipytracer.hub", "--token-file", "/run/token", "http://" + HUBS, NOBODY],
    "environment": {"PYTHONPATH": "/run/src", "PYTHONDONTWRITEBYTECODE": "1"},
}
ROLE = {"name": "user", "scopes": ["self", "access:services!service=memory"]}
HERE = os.path.dirname(os.path.abspath(__file__))


def install(tree):
    """Puts the service's program and its token where the hub runs."""
    shutil.copytree(os.path.join(HERE, "../../python/src"), os.path.join(tree, "run/src"))
    with open(os.path.join(tree, "run/token"), "w", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
        f.write(TOKEN + "\n")


def name_notebook(home, number):
    """Has a user's kernels say which notebook they run, as newer servers do."""
    folder = os.path.join(home, ".local/share/jupyter/kernels/python3")
    os.makedirs(folder)
    with open(os.path.join(folder, "kernel.json"), "w") as f:
        json.dump({"argv": ["python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python",
                   "display_name": "Python 3", "env": {"JPY_SESSION_NAME": NOTEBOOK}}, f)
    while folder != home:
        os.chown(folder, number, number)
        folder = os.path.dirname(folder)


def section(tree):
    """Returns the section of the agent's configuration."""
    return "hub_page:\n  socket: off\n  listen: %s\n  hubs:\n  - token_file: %s\n    machine_users: true\n" % (
        HUBS, os.path.join(tree, "run/token"))


class Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirection."""

    def redirect_request(self, *_):
        return None


class Browser:
    """What a user's browser does, with cookies of its own."""

    def __init__(self, address):
        self.address, self.jar = address, http.cookiejar.CookieJar()
        jar = urllib.request.HTTPCookieProcessor(self.jar)
        self.follows = urllib.request.build_opener(jar)
        self.stays = urllib.request.build_opener(jar, Straight)

    def get(self, path="/services/memory/", follow=True, body=None, **headers):
        """Returns the status, the headers and the text of an answer."""
        request = urllib.request.Request("http://%s%s" % (self.address, path), body, headers)
        try:
            with (self.follows if follow else self.stays).open(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read().decode()

    def log_in(self, user):
        self.get("/hub/login", body=urllib.parse.urlencode({"username": user, "password": "x"}).encode())
        return self


def tables(page):
    """Returns the tables of a page: of each its rows, and of a cell its text and the bytes in its first title."""
    def cell(text):
        title = re.search(r'title="([\d,]+) bytes"', text)
        shown = html.unescape(re.sub(r"<[^>]*>", "", text))
        return shown, int(title[1].replace(",", "")) if title else None
    return [[[cell(td) for td in re.findall(r"<td[^>]*>(.*?)</td>", row)]
             for row in re.findall(r"<tr>(<td.*?)</tr>", body)]
            for body in re.findall(r"<tbody>(.*?)</tbody>", page, re.S)]


def check(address, agent, kernels, cells):
    """kernels: of each user. cells: those of the report of each user."""
    browsers = {user: Browser(address).log_in(user) for user in kernels}
    for user, browser in browsers.items():
        own(browser, user, agent, kernels[user], cells[user])
    strangers(address, browsers, cells)
    odd_names(address)
    without_token(agent, kernels)
    last_death(browsers, kernels)


def own(browser, user, agent, kernel, cells):
    """The page of a user has all of the own figures, and no others."""
    status, headers, page = browser.get()
    holds("%s sees the page" % user, status == 200 and "Memory of %s" % user in page, status, page)
    holds("it runs nothing", "default-src 'none'" in headers["Content-Security-Policy"] and "<script" not in page)
    holds("it says that a node is silent", "1 of 2 nodes did not answer" in page, page)
    running, heaviest = tables(page)
    holds("%s: the own kernel and no other" % user, [row[3][0] for row in running] == [str(kernel.pid)], running)
    holds("%s: its notebook, as it says" % user, running[0][0][0] == "<train>.ipynb" and html.escape(NOTEBOOK)
          in page and "<train>" not in page, running)
    highest = agent.value("ipytracer_kernel_highest_bytes", kernel=kernel.slot)
    holds("%s: its highest need is the agent's" % user, running[0][6][1] == highest, running, highest)
    want = sorted(((need(w), "In[%d]" % w["execution_count"]) for w in cells), reverse=True)[:MOST]
    found = [(row[3][1], row[0][0]) for row in heaviest]
    holds("%s: the %d heaviest cells have the needs of the report, to the byte: %s" % (
        user, len(want), [n for n, _ in want]), sorted(found, reverse=True) == want, found, want)
    peaks = {w["execution_count"]: w.get("tree", w["meters"])["cpu.resident"]["peak"] for w in cells}
    holds("%s: and its peaks" % user, all(row[4][1] == peaks[int(row[0][0][3:-1])] for row in heaviest),
          heaviest, peaks)


def strangers(address, browsers, cells):
    """Nobody sees what is another's, whatever a request says."""
    made_up = {"Cookie": 'service-memory="2|1:0|10:1700000000|14:service-memory|4:YWRh|%s"' % ("0" * 64)}
    for what, more in ("without a login", {}), ("with a cookie that is made up", made_up):
        status, headers, text = Browser(address).get(follow=False, **more)
        holds("%s there is a redirection to the hub" % what,
              status == 302 and headers["Location"].startswith("/hub/api/oauth2/authorize?") and "In[" not in text,
              status, headers, text)
    tokens = {user: next(c for c in b.jar if c.name == "service-memory").value for user, b in browsers.items()}
    holds("the users have cookies of their own", len(set(tokens.values())) == len(browsers))
    eve = Browser(address).log_in("eve")
    status, _, page = eve.get()
    holds("a user without kernels sees the page, and no figures", status == 200 and tables(page) == [], status, page)
    first, other = browsers
    token = "token=" + urllib.parse.quote(tokens[other])
    for query in ("oauth_callback?code=x&state=x&" + token, "?name=" + other, "?user=" + other, "?" + token, "?_=1"):
        status, _, text = browsers[first].get("/services/memory/" + query, follow=False)
        holds("%s is refused" % query[:36], status == 400 and "In[" not in text, status, text)
    status, _, text = eve.get(follow=False, Authorization="token " + tokens[first])
    holds("a token in a header is refused", status == 400, status, text)
    for path in ("/services/memory/" + other, "/services/memory/../memory/user", "/services/memory/oauth_callback"):
        status, _, text = browsers[first].get(path, follow=False)
        holds("%s is no page" % path, status in (400, 404), status, text)
    # The state of a login belongs to the browser that has begun it.
    begun = Browser(address)
    begun.get(follow=False)
    state = begun.get(follow=False)[1]["Location"].split("state=")[1]
    for what in "wrong", state, "":
        status, _, text = eve.get("/services/memory/oauth_callback?code=x&state=" + what, follow=False)
        holds("a wrong state is refused", status == 403, status, text)
    holds("and she sees what she saw", tables(eve.get()[2]) == [])


def odd_names(address):
    """Whatever users of the hub are called, they see no figures of users whose names are alike."""
    for name in ("ada@example.org", "ad\u0430", "\\x61da", "ada\nbob", "ada&name=bob", "ada%00", "ada#",
                 "..", "3001", "<b>ada", "ada~" + "0" * 16, "a" * 1000):
        status, _, page = Browser(address).log_in(name).get()
        holds("%.20r sees no figures" % name, status == 200 and "Memory of" in page and tables(page) == [], status,
              page)


def without_token(agent, kernels):
    """The agent answers the service, which proves that it has the token, and nobody else; not at its public address."""
    user = next(iter(kernels))
    key, nonce = hashlib.sha256(TOKEN.encode()).digest(), "0" * 32

    def sign(*texts):
        return hmac.new(key, "\n".join(texts).encode(), hashlib.sha256).hexdigest()
    with urllib.request.urlopen("http://%s/hub/prove?address=%s&nonce=%s" % (HUBS, HUBS, nonce), timeout=60) as answer:
        own = json.load(answer)
    holds("the agent proves that it has the token", own["proofs"] == [sign("agent", HUBS, nonce, own["nonce"])], own)
    proof = "Proof %s %s %s " % (HUBS, nonce, own["nonce"])
    good = proof + sign("hub", HUBS, nonce, own["nonce"], user)
    for at, token, want in ((HUBS, None, 403), (HUBS, "Bearer " + TOKEN, 403), (HUBS, proof + "0" * 64, 403),
                            (agent.address, good, 404), (HUBS, good, 200)):
        request = urllib.request.Request("http://%s/hub/user?name=%s" % (at, user),
                                         headers={"Authorization": token} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as e:
            status, text = e.code, e.read()
        holds("the agent answers %s with status %d" % (token and token[:12], want),
              status == want and (b"kernels" in text) == (want == 200), status, text)
    holds("with the user's kernel alone",
          [k["pid"] for k in json.loads(text)["kernels"]] == [kernels[user].pid], text)


def last_death(browsers, kernels):
    """A user whose kernel was killed sees that, and the other user does not."""
    user, other = browsers
    os.kill(kernels[user].pid, signal.SIGKILL)
    until("%s sees the death" % user, lambda: "was ended by SIGKILL" in browsers[user].get()[2])
    # The user's server has begun another one.
    page = until("%s sees the next kernel" % user, lambda: len(tables(p := browsers[user].get()[2])) == 3 and p)
    if os.environ.get("FLEET_PAGES"):
        with open(os.path.join(os.environ["FLEET_PAGES"], "hub-page.html"), "w") as f:
            f.write(page)
    died = tables(page)[-1]
    holds("%s: it is the one of the kernel" % user, [row[2][0] for row in died] == [str(kernels[user].pid)], died)
    page = browsers[other].get()[2]
    holds("%s does not see it" % other, "No kernel of yours was killed" in page and "SIGKILL" not in page, page)

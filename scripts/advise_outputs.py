"""What cells of a notebook show, as texts that two runs can be compared by."""

import base64
import contextlib
import hashlib
import re


def said(kind, content):
    """What a message shows, as (channel, text)."""
    if kind == "stream":
        return [(content["name"], content["text"])]
    if kind == "error":
        return [("error", "%s: %s" % (content.get("ename"), content.get("evalue")))]
    if kind in ("execute_result", "display_data", "update_display_data"):
        data = content["data"]
        return [("shown", plain(data.get("text/plain", ""))),
                *(("picture", picture(data[one])) for one in sorted(data) if one.startswith("image/"))]
    return []


def plain(text):
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)


def picture(data):
    """A name for a picture: a hash of its bytes."""
    with contextlib.suppress(ValueError):
        return hashlib.sha256(base64.b64decode(data)).hexdigest()[:16]
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def joined(outputs):
    """The same outputs, with what one channel says in pieces joined: pieces depend on time."""
    out = []
    for channel, text in outputs:
        if out and out[-1][0] == channel and channel in ("stdout", "stderr"):
            text = out.pop()[1] + text
        out.append((channel, text))
    return [(channel, plain(text)) for channel, text in out if channel != "stderr"]


def differing(before, after, edited):
    """The cells with other outputs: In[N]."""
    return ["In[%d]%s" % (i, " (edited)" if i in edited else "")
            for i, (a, b) in enumerate(zip(before, after), 1) if a != b]

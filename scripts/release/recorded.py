"""Fails unless each file of the installed ipytracer is as its record says, and tracer may be executed."""
import base64
import hashlib
import importlib.metadata
import os
import sys

files = importlib.metadata.files("ipytracer")
programs = [one for one in files if one.name == "tracer"]
if len(programs) != 1 or not os.access(programs[0].locate(), os.X_OK):
    sys.exit(f"no program that may be executed: {programs}")
for one in files:
    if one.hash is None:
        if one.suffix not in (".pyc", "") and one.name != "RECORD":
            sys.exit(f"{one} has no hash")
        continue
    digest = hashlib.new(one.hash.mode, one.locate().read_bytes()).digest()
    if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != one.hash.value:
        sys.exit(f"{one} is not what the record says")

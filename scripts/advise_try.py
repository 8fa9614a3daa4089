#!/usr/bin/env python3
"""Compares the saving that the first advice predicts with the one that `tracer try` measures.

    advise_try.py [--tracer FILE] [--jobs N] [--user NAME] NOTEBOOK|FOLDER…

For each notebook there is a line: the prediction, the measured saving of the judged meter, and which results differ. A
notebook is wrong if the saving is more than 5 % (and 2 MiB) away, or if results differ. Notebooks of testdata/advice
that are healthy must get no advice. The exit status is 1 if one is wrong. Needs root, and runs notebooks as NAME.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

import advise


def tried(opts, path):
    """The line of one notebook, and whether it is right. Results that differ may do so in the notebook as it is: a
    second run of it says so."""
    line, right = once(opts, path, opts.runs)
    return once(opts, path, 2) if opts.runs == 1 and "| differ: " in line else (line, right)


def once(opts, path, runs):
    """The same, by so many runs of each version."""
    with open(path, encoding="utf-8") as f:
        want = advise.wanted(f.read()) if path.endswith(".ipy") else None
    by = ["--by", want.meter] if want and want.meter else []
    ran = subprocess.run(
        [opts.tracer, "try", os.path.abspath(path), "--advice", "1", "-n", str(runs), "--format", "json", "--yes",
         "--allow-errors", "--quiet", "--user", opts.user, "--python", "/usr/bin/python3", *by],
        stdin=subprocess.DEVNULL, capture_output=True, text=True)
    name = os.path.basename(path)
    if not ran.stdout:
        said = ran.stderr.strip().split("\n")[-1]
        none = "there are 0 pieces" in said or "there is no" in said
        return "%s | %s" % (name, said[:200]), none and (want is None or want.kind == "healthy")
    variant = json.loads(ran.stdout)["variants"][0]
    said, saved = variant["predicted"], variant["saved"][0]
    off = abs(said - saved["certain"])
    near = off <= max(advise.SLACK, advise.NEAR * said)
    differs = sorted({d["variable"] if d.get("variable") else "In[%d]" % d["cell"]
                      for d in variant["differences"] if not d["tolerated"]})
    kind = want.kind if want else ""
    right = near and variant["passed"] and kind != "healthy"
    return "%s | %s | says %s | saves %s | %s | %s" % (
        name, kind or "-", advise.size(said), advise.size(saved["certain"]),
        "the same results" if not differs else "differ: " + ", ".join(differs), "ok" if right else "WRONG"), right


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="+", metavar="NOTEBOOK|FOLDER")
    parser.add_argument("--tracer", default=os.path.join(os.path.dirname(advise.HERE), "bin", "tracer"), metavar="FILE")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many notebooks at once")
    parser.add_argument("--user", default="nobody", metavar="NAME", help="runs the notebooks")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="runs of each version")
    opts = parser.parse_args()
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        for line, right in pool.map(lambda path: tried(opts, path), list(advise.files(opts.notebooks))):
            wrong += not right
            print(line, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Prints one line of the table of scripts/kernels.sh: the results of a kernel, from its serial console.

    kernels_judge.py VERSION LOG CHECKS [SELFTESTS]      SELFTESTS: how often each self-test was to run (1)

Ends with status 1 if a kernel that should pass did not; the reason is on standard error.
"""
import json
import re
import sys

VERSION, LOG, CHECKS = sys.argv[1], open(sys.argv[2], errors="replace").read(), sys.argv[3].split()
WANTED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
OLD = [int(n) for n in re.findall(r"\d+", VERSION)[:2]] < [5, 15]
SETTINGS = [setting for setting in VERSION.partition(":")[2].split(",") if setting]
# How a kernel answers that took a setting of scripts/qemu.sh.
TAKEN = {
    "zero": lambda m: m["read_small"],
    "huge": lambda m: m["read_large"] and m["write"] > 4,
    "small": lambda m: m["write"] == m["advised"] == 4,
    "sizes": lambda m: 4 < m["write"] < 2048,
    "collapse": lambda m: m["collapsed"],
    "reclaim": lambda m: not m["freed"],
}
wrong = []


def sections():
    """Returns the text in front of each mark, by the mark's name: pairs of that text and the mark's own text."""
    found, begin = {}, 0
    for mark in re.finditer(r"^== (\w+) ?(.*)$", LOG, re.M):
        found.setdefault(mark[1], []).append((LOG[begin:mark.start()], mark[2]))
        begin = mark.end()
    return found


def objects(text):
    """Yields the JSON objects in a text, those of one line and those of many."""
    found = []
    for one in re.findall(r"^\{$.*?^\}$|^\{.*\}$", text, re.M | re.S):
        try:
            found.append(json.loads(one))
        except ValueError:
            wrong.append("not JSON: %.80r" % one)
    return found


def count(figures):
    """Returns the number of a self-test's figures that are equal to the truth."""
    if not figures:
        return "-"
    off = [f for f in figures if f["difference"]]
    beyond = [f for f in off if abs(f["difference"]) > f["bound"]]
    text = "%d of %d equal" % (len(figures) - len(off), len(figures))
    if len(off) > len(beyond):
        worst = max((f["difference"] for f in off if f not in beyond), key=abs)
        text += ", %d within the bound (worst %+d KiB)" % (len(off) - len(beyond), worst // 1024)
    return text + (", %d WRONG" % len(beyond) if beyond else "")


def selftests(name):
    """Judges runs of the self-test: programs, cells, and the number of right ones if there should be more than one."""
    runs = marks.get(name, [])
    if not runs:
        wrong.append("%s: it did not end" % name)
        return "FAILED", "FAILED"
    if len(runs) < WANTED:
        wrong.append("%s: %d of %d runs ended" % (name, len(runs), WANTED))
    figures, right = {"workloads": [], "cells": []}, 0
    for text, status in runs:
        code, _, said = status.partition(" ")
        found = [o for o in objects(text) if o.get("schema", "").startswith("ipytracer/selftest/")]
        for of in figures:
            figures[of] += [f for o in found for test in o[of] for f in test["figures"]]
        right += code == ("3" if OLD else "0")
        if code != ("3" if OLD else "0"):
            wrong.append("%s: status %s %s" % (name, code, said or (found[0]["failure"] if found else "")))
    wanted = max(WANTED, len(runs))
    times = "" if wanted == 1 else "%d of %d runs right: " % (right, wanted)
    return times + count(figures["workloads"]), count(figures["cells"])


def storms(name):
    """Judges runs of the storms (e2e/storms/): the right and the wrong figures."""
    runs = [o for text, _ in marks.get(name, []) for o in objects(text) if "storm" in o]
    if not marks.get(name):
        wrong.append("%s: they did not end" % name)
    elif not runs:
        wrong.append("%s: no storm ran" % name)
    if any(status != "0" for _, status in marks.get(name, [])):
        wrong.append("%s: status %s" % (name, ", ".join(status for _, status in marks[name])))
    for o in runs:
        wrong.extend("%s: %s: %s" % (name, o["storm"], failure) for failure in o["failures"])
    total = {
        key: sum(o[key] for o in runs)
        for key in ("processes", "ended_twice", "boundaries", "boundaries_missing", "figures", "equal", "wrong")
    }
    if not runs:
        return "-"
    text = (
        "%(processes)d processes, %(ended_twice)d ended twice, %(boundaries_missing)d of %(boundaries)d boundaries "
        "missing, "
        % total
    )
    return (
        text
        + "%(equal)d of %(figures)d figures equal" % total
        + (", %(wrong)d WRONG" % total if total["wrong"] else "")
    )


def habits():
    """Returns what the kernel does with memory, where kernels differ (testdata/workloads/machine.h)."""
    if "machine" not in marks:
        wrong.append("machine: it did not answer")
        return "?"
    m = {name: n // 1024 for name, n in json.loads(said("machine")).items()}
    wrong.extend("%s: the kernel did not take it: %s" % (setting, said("machine")) for setting in SETTINGS
                 if not TAKEN[setting](m))
    read = "nothing" if not m["read_large"] else "a page" if m["read_small"] else "a huge page"
    first = "a read takes %s, a write %d KiB, with advice %d KiB" % (read, m["write"], m["advised"])
    more = [
        "counters lag by %d KiB" % m["behind"] if m["behind"] else "",
        "" if m["freed"] else "MADV_FREE frees at once",
        "khugepaged adds %d KiB" % m["collapsed"] if m["collapsed"] else "",
    ]
    return "; ".join([first] + [one for one in more if one])


def said(name):
    return marks[name][-1][1] if name in marks else "?"


def memory():
    named = "out of memory" in said("killed") and "600.00 MiB of cgroup /small" in said("killed")
    spared = re.fullmatch(r"MemoryError 1 Out\[3\]: \d+", said("limited")) is not None
    if named and spared:
        return "named; spared by --limit"
    wrong.append("memory: killed: %s; limited: %s" % (said("killed"), said("limited")))
    return "FAILED"


def confined():
    held = re.search(r'CapEff:([0-9a-f]+) NoNewPrivs:1 Seccomp:2 +"complete": *true "kind": *"cell"', said("confined"))
    known = {
        "0000000000000000": "no capability",
        "000000c000000000": "BPF and PERFMON",
        "000000c000200000": "BPF, PERFMON and SYS_ADMIN",
    }
    if held and held[1] in known:
        return known[held[1]]
    wrong.append("confined: %s" % said("confined"))
    return "FAILED"


def line():
    programs = cells = beside = alone = aligned = killed = kept = "-"
    if "doctor" in CHECKS and said("doctor") != ("3" if OLD else "0"):
        wrong.append("doctor: status %s" % said("doctor"))
        wrong.extend(
            "%s: %s" % (c["name"], c["detail"])
            for text, _ in marks.get("doctor", [])
            for o in objects(text)
            for c in o.get("checks", [])
            if c["state"] == "missing"
        )
    for name in "selftest", "clock":  # the figures of clock are in the table, if both are requested
        if name in CHECKS:
            programs, cells = selftests(name)
    if "clock" in CHECKS and said("jumped") not in ("2001", "2096"):
        wrong.append("clock: it did not jump: %s" % said("jumped"))
    if not OLD:
        beside = "; ".join(of for of in selftests("beside") if of != "-") if "beside" in CHECKS else "-"
        alone = storms("storms") if "storms" in CHECKS else "-"
        aligned = storms("aligned") if "aligned" in CHECKS else "-"
        killed = memory() if "memory" in CHECKS else "-"
        kept = confined() if "confined" in CHECKS else "-"
    answers = habits()
    if "seconds" not in marks:
        wrong.append("the boot did not come to its end")
    verdict = "FAILED" if wrong else "refused, status 3" if OLD else "ok"
    release = ", ".join([said("release")] + SETTINGS)
    return [release, verdict, programs, cells, beside, alone, aligned, killed, kept, answers, said("seconds")]


marks = sections()
print("| %s |" % " | ".join(line()))
for one in wrong:
    print("kernels.sh: %s: %s" % (VERSION, one), file=sys.stderr)
sys.exit(bool(wrong))

"""What was at the cells is what the report has, to the byte: compare.py SEEN REPORT."""

import json
import sys


def truth(window):
    """What is shown of a cell, as the report has it."""
    own = window["meters"]["cpu.resident"]
    together = window.get("tree", {}).get("cpu.resident", own) if window["children"] else own
    return {
        "need": own["peak"] - own["start"],
        "consumed": own["consumed"],
        "count": window["execution_count"],
        "total": together["end"],
    }


def main(seen, report):
    with open(seen) as f:
        seen = json.load(f)
    with open(report) as f:
        windows = {w["id"]: w for w in json.load(f)["windows"]}
    failed = 0
    for one in seen:
        window = windows.get(one["window"])
        want = window and {"kind": "cell", **truth(window)}
        told = {key: one[key] for key in one if key not in ("where", "window")}
        if not want or any(want[key] != value for key, value in told.items()):
            failed += 1
            print("%s: shown: %s; in the report: %s" % (one["where"], told, want))
    print("%d passed, %d failed" % (len(seen) - failed, failed))
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

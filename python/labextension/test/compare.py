"""What was at the cells is what the report has, to the byte: compare.py SEEN REPORT."""

import json
import sys


def main(seen, report):
    with open(seen) as f:
        seen = json.load(f)
    with open(report) as f:
        windows = {w["id"]: w for w in json.load(f)["windows"]}
    failed = 0
    for one in seen:
        window = windows.get(one["window"])
        figure = window and window["meters"]["cpu.resident"]
        want = window and (figure["peak"] - figure["start"], figure["consumed"], window["execution_count"], window["kind"])
        if want != (one["need"], one["consumed"], one["count"], "cell"):
            failed += 1
            print("%s: at the cell need, consumed, In[N]: %s; in the report: %s" % (one["where"], [one["need"], one["consumed"], one["count"]], want))
    print("%d passed, %d failed" % (len(seen) - failed, failed))
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

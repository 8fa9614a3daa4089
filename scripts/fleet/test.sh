#!/usr/bin/env bash
# Compares the figures of `tracer agent` in real engines with those of `tracer report` (run.py). Needs root.
#
#   scripts/fleet/test.sh TRACER [ENGINE ...]     all engines, if none is named
set -euo pipefail
here=$(dirname "$0")
tracer=$1
shift
"$here/get.sh" "$@"
# An engine of another run may have the same addresses: each run has a network of its own.
exec unshare --pid --net --fork --mount-proc --kill-child env PYDEVD_DISABLE_FILE_VALIDATION=1 \
    /usr/bin/python3 "$here/run.py" "$tracer" "${FLEET_DIR:-/var/tmp/ipytracer-fleet}" "$@"

#!/usr/bin/env bash
# Compares the figures of `tracer agent` in real engines with those of `tracer report` (run.py). Needs root.
#
#   scripts/fleet/test.sh TRACER [ENGINE ...]     all engines, if none is named
set -euo pipefail
here=$(dirname "$0")
tracer=$1
shift
[ $# -gt 0 ] || set -- prometheus victoria-metrics jupyterhub
"$here/get.sh" "$@"

# beside ENGINE ...: runs cells beside these engines. An engine of another run may have the same addresses: each run has
# a network of its own.
beside() {
    unshare --pid --net --fork --mount-proc --kill-child env PYDEVD_DISABLE_FILE_VALIDATION=1 \
        /usr/bin/python3 "$here/run.py" "$tracer" "${FLEET_DIR:-/var/tmp/ipytracer-fleet}" "$@"
}

# JupyterHub brings kernels of its own, and has a run of its own.
together=()
for engine; do
    case $engine in
    jupyterhub) ;;
    *) together+=("$engine") ;;
    esac
done
[ ${#together[@]} = 0 ] || beside "${together[@]}"
for engine; do
    case $engine in
    jupyterhub) beside "$engine" ;;
    esac
done

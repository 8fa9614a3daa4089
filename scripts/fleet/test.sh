#!/usr/bin/env bash
# Compares the figures of `tracer agent` in real engines with those of `tracer report` (run.py). Needs root.
#
#   scripts/fleet/test.sh TRACER [ENGINE ...]     all engines, if none is named
set -euo pipefail
here=$(dirname "$0")
tracer=$1
shift
[ $# -gt 0 ] || set -- prometheus victoria-metrics otelcol kubernetes jupyterhub pull runc dask
engines=$*
# The collector has the spans of cells in containers.
[[ " $engines " != *" runc "* || " $engines " = *" otelcol "* ]] ||
    set -- "$@" otelcol
# Dask itself is installed (scripts/install.sh), and its spans go through the collector.
mapfile -t got < <(printf '%s\n' "${@/#dask/otelcol}" | sort -u)
"$here/get.sh" "${got[@]}"
folder=$("$here/../go.sh")
PATH=${folder:+$folder:}$PATH      # for go tool pprof

# beside ENGINE ...: runs cells beside these engines. An engine of another run may have the same addresses: each run has
# a network of its own.
beside() {
    unshare --pid --net --fork --mount-proc --kill-child env PYDEVD_DISABLE_FILE_VALIDATION=1 \
        /usr/bin/python3 "$here/run.py" "$tracer" "${FLEET_DIR:-/var/tmp/ipytracer-fleet}" "$@"
}

# Control groups stay after the processes in them.
leave() {
    find /sys/fs/cgroup{/*,}/ipytracer-fleet -depth -type d -exec rmdir {} + 2>/dev/null || true
}
trap leave EXIT
leave

asked() { [[ " $engines " = *" $1 "* ]]; }

# JupyterHub and containers bring kernels of their own, and have runs of their own.
together=()
for one; do
    [ "$one" = jupyterhub ] || [ "$one" = runc ] || [ "$one" = dask ] || together+=("$one")
done
[ ${#together[@]} = 0 ] || beside "${together[@]}"
! asked jupyterhub || beside jupyterhub
! asked runc || beside otelcol runc
! asked otelcol || beside --down otelcol
# Dask has two nodes with a network each.
! asked dask || unshare --net env PYDEVD_DISABLE_FILE_VALIDATION=1 PYTHONPATH="$(realpath "$here/../../python/src")" \
    /usr/bin/python3 "$here/dask_nodes.py" "$tracer" "${FLEET_DIR:-/var/tmp/ipytracer-fleet}"

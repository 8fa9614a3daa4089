#!/usr/bin/env bash
# A real Jupyter kernel, traced: starts ipykernel, attaches, runs the cells of scripts/demo.py in it, detaches and
# prints the report. Needs root; `make demo` installs missing packages first. CELLS=FILE runs other cells, RECORD=FILE
# keeps the recording.
set -euo pipefail
cd "$(dirname "$0")/.."

export COLUMNS=${COLUMNS:-120}       # the report goes through a file, which has no width
unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND # all of this belongs to root, also under sudo
dir=$(mktemp -d)
cleanup() {
    [ -z "${kernel:-}" ] || kill "$kernel" 2>/dev/null || true
    rm -rf "$dir"
}
trap cleanup EXIT

python=${PYTHON:-/usr/bin/python3}
echo '$ jupyter kernel &                     # a kernel that knows nothing of us'
mkfifo "$dir/go"
"$python" scripts/demo.py "$dir" ${CELLS:+"$CELLS"} <"$dir/go" >"$dir/out" 2>"$dir/err" &
kernel=$!
exec 3>"$dir/go"
for _ in $(seq 300); do
    [ ! -e "$dir/pid" ] || break
    kill -0 "$kernel" 2>/dev/null || { cat "$dir/err" >&2; exit 1; }
    sleep 0.1
done
pid=$(cat "$dir/pid")

echo "\$ sudo tracer attach $pid"
bin/tracer attach --ready-file "$dir/ready" --record "${RECORD:-$dir/demo.arrows}" "$pid" >"$dir/report" &
tracer=$!
for _ in $(seq 300); do
    [ ! -e "$dir/ready" ] || break
    kill -0 "$tracer" 2>/dev/null || exit 1
    sleep 0.05
done
echo go >&3
for _ in $(seq 600); do
    [ ! -e "$dir/ran" ] || break
    kill -0 "$kernel" 2>/dev/null || { cat "$dir/err" >&2; exit 1; }
    sleep 0.1
done
kill -INT "$tracer" # Ctrl-C
wait "$tracer"
echo done >&3
exec 3>&-
wait "$kernel" || { cat "$dir/err" >&2; exit 1; }
kernel=
cat "$dir/report"

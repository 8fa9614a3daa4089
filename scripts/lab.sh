#!/usr/bin/env bash
# Tests JupyterLab's extension in a real JupyterLab, in a real browser, with the tracer attached to the server: the
# figures at the cells must be those of the tracer's report, to the byte. Needs root, chromium, node, and the tree of
# scripts/pythons.sh lab.
#
#   scripts/lab.sh [PICTURES]     PICTURES: a folder for screenshots. LAB_FAILED: a file for the screenshot of a page
#                                 where something was not seen
set -euo pipefail
cd "$(dirname "$0")/.."
# A fresh clone gets the browser's driver from the lock file.
[ -e python/labextension/node_modules/puppeteer-core ] ||
    (cd python/labextension && npm ci --ignore-scripts --no-audit --loglevel=error >/dev/null)

unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND # all of this belongs to root, also under sudo
root=${PYTHONS_DIR:-/var/tmp/ipytracer-pythons}/lab
pictures=${1:-}
if [ -n "$pictures" ]; then
    mkdir -p "$pictures"
    pictures=$(realpath "$pictures")
fi
work=$(mktemp -d)
running=()
# JupyterLab's server may never end if it is stopped while one of its kernels starts.
cleanup() {
    kill "${running[@]}" 2>/dev/null || true
    for _ in $(seq 300); do
        kill -0 "${running[@]}" 2>/dev/null || break
        sleep 0.1
    done
    kill -KILL "${running[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap cleanup EXIT

# until_there FILE PID WHAT: waits for a file, while the process that makes it lives.
until_there() {
    for _ in $(seq 1200); do
        [ ! -e "$1" ] || return 0
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    echo "lab.sh: $3 did not begin" >&2
    tail -n 30 "$work"/*.log >&2
    exit 1
}

# The tree's other users must not see any of this, so it is mounted for this server only.
install -m 755 bin/tracer "$work/tracer"
mkdir "$work/home" "$work/notebooks"
cat >"$work/serve.sh" <<'SH'
set -e
export HOME=/mnt/home TMPDIR=/mnt JUPYTER_RUNTIME_DIR=/mnt/run IPYTRACER_SERVE=/mnt/serve/serve.sock
python3 -m venv --without-pip --system-site-packages /mnt/venv
/mnt/tracer notebook install --python /mnt/venv/bin/python
mkdir -p /mnt/run /mnt/venv/share/jupyter/kernels/python3
cat >/mnt/venv/share/jupyter/kernels/python3/kernel.json <<'JSON'
{"argv": ["/mnt/venv/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
 "display_name": "Python 3", "language": "python"}
JSON
exec /mnt/venv/bin/python -m jupyterlab --allow-root --no-browser --app-dir=/usr/share/jupyter/lab \
    --ip=127.0.0.1 --port=0 --IdentityProvider.token=figures --LabApp.expose_app_in_browser=True \
    --ServerApp.root_dir=/mnt/notebooks --LabApp.news_url=None \
    --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate
SH
# shellcheck disable=SC2016
unshare --mount bash -ec '
    mount --bind "$2" "$1/mnt"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" bash /mnt/serve.sh
' bash "$root" "$work" >"$work/server.log" 2>&1 &
server=$!
running+=("$server")
mkdir -p "$work/run"
until_there "$work/run/jpserver-$server.json" "$server" "the server"

bin/tracer attach --ready-file "$work/ready" --format json -o "$work/report.json" --record "$work/lab.arrows" \
    --quiet "$server" >"$work/tracer.log" 2>&1 &
tracer=$!
running+=("$tracer")
until_there "$work/ready" "$tracer" "the tracer"

drive() {
    node python/labextension/test/lab.mjs "$work" "$server" "$1" ${pictures:+"$pictures"} || {
        tail -n 40 "$work"/*.log >&2
        exit 1
    }
}
drive figures
kill -INT "$tracer"
wait "$tracer" || { cat "$work/tracer.log" >&2; exit 1; }
running=("$server")

# Without a tracer, and without root, the button asks a server to begin a session.
bin/tracer serve --folder "$work/serve" >"$work/serve.log" 2>&1 &
running+=("$!")
until_there "$work/serve/serve.sock" "$!" "the server of sessions"
drive start
/usr/bin/python3 python/labextension/test/compare.py "$work/seen.json" "$work/report.json"

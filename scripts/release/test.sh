#!/usr/bin/env bash
# Installs and uses each product of a release, in trees of Debian that have a Python and neither Go, nor a C compiler,
# nor the repository: the package, the wheel, the static program, and the image under Debian's containerd and runc.
#
#   scripts/release/test.sh RELEASE [SUITE ...]    bookworm and trixie, if none is named
#
# Needs root, debootstrap and Debian's packages. The trees stay below $RELEASE_DIR (/var/tmp/ipytracer-release), and
# each thing is installed into a layer over them that goes with this script, as all mounts do. RELEASE_ANEW=1 makes the
# trees anew.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/tree.sh

if [ -z "${RELEASE_MOUNTS:-}" ]; then
    RELEASE_MOUNTS=own exec unshare --mount --propagation private "$0" "$@"
fi
release=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bookworm trixie
dir=${RELEASE_DIR:-/var/tmp/ipytracer-release}
mkdir -p "$dir"
arch=$(dpkg --print-architecture)
version=$(compgen -G "$release/ipytracer_*_$arch.deb") || { echo "test.sh: $release has no release" >&2; exit 1; }
version=${version##*/ipytracer_}
version=${version%_"$arch".deb}
daemon=
layers=
work=$(mktemp -d)

ends() {
    local root
    [ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null || true
    for root in $layers; do
        umount -R -l "$root/root" 2>/dev/null || true
        rm -rf --one-file-system "$root"
    done
    rm -rf "$work"
}
trap ends EXIT

fails() {
    echo "test.sh: $*" >&2
    exit 1
}

# quietly WHAT COMMAND ...: shows the command's output only if it fails.
quietly() {
    local what=$1
    shift
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; fails "$what failed"; }
}

# made SUITE: makes the tree below all layers.
made() {
    local suite=$1 root=$dir/$1 one
    [ -z "${RELEASE_ANEW:-}" ] || rm -rf --one-file-system "$root"
    [ ! -e "$root/made" ] || return 0
    rm -rf --one-file-system "$root"
    quietly "debootstrap of $suite" debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" \
        ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    top=$root
    connected "$top"
    quietly "apt update in $suite" types apt-get update
    quietly "a Python in $suite" types apt-get install -y --no-install-recommends ipython3 python3-numpy python3-venv
    for one in proc sys dev run; do umount -R -l "$root/$one"; done
    touch "$root/made"
}

# layer SUITE: makes a layer over its tree, mounted at $top and connected to the machine.
layer() {
    local at none
    at=$(mktemp -d "$dir/layer.XXXXXX")
    layers="$layers $at"
    mkdir "$at/upper" "$at/work" "$at/root"
    mount -t overlay overlay -o "lowerdir=$dir/$1,upperdir=$at/upper,workdir=$at/work" "$at/root"
    top=$at/root
    connected "$top"
    for none in go gcc cc; do ! types which "$none" >/dev/null || fails "the tree has $none"; done
}

# types COMMAND ...: runs it as root in the tree at $top, without this environment.
types() {
    local path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    chroot "$top" env -i HOME=/root TERM=dumb "PATH=$path" DEBIAN_FRONTEND=noninteractive "$@"
}

# shell PYTHON: prints a command that reads cells. It has no history: a thread for that would map memory meanwhile.
shell() { echo "$1 -m IPython --simple-prompt --no-banner --HistoryManager.enabled=False"; }

# uses TRACER PYTHON: prints its version, finds that it can trace, and traces a session with known figures.
uses() {
    local tracer=$1 python=$2
    [ "$(types "$tracer" version)" = "tracer $version" ] || fails "it is not $version: $(types "$tracer" version)"
    quietly "tracer doctor" types "$tracer" doctor --quick
    quietly "a traced session" types "$tracer" run -q --format json -o /root/report.json -- $(shell "$python") \
        <scripts/release/cells.py
    scripts/release/judge.py "$top/root/report.json"
    quietly "tracer view --site" types "$tracer" view --site /root/site
    [ -s "$top/root/site/tracer.wasm.gz" ] || fails "tracer view --site writes no program"
}

# agent TRACER: the agent is beside it, and is the same version; it checks its configuration.
agent() {
    local said
    said=$(types "$1" agent check 2>&1) || fails "tracer agent check: $said"
    [ "$(types "$1-agent" version)" = "tracer $version" ] || fails "the agent is not $version"
}

# package SUITE: the package is installed by apt, complete, used, compared with the self-test's truth, and removed.
package() {
    local file
    layer "$1"
    cp "$release/ipytracer_${version}_$arch.deb" "$top/root/"
    quietly "apt install" types sh -c 'apt-get install -y --no-install-recommends /root/ipytracer_*.deb'
    [ -z "$(types dpkg --verify ipytracer)" ] || fails "dpkg --verify: $(types dpkg --verify ipytracer)"
    for file in bin/tracer bin/tracer-agent share/man/man1/tracer.1.gz share/man/man1/tracer-attach.1.gz \
        share/bash-completion/completions/tracer share/zsh/vendor-completions/_tracer \
        share/fish/vendor_completions.d/tracer.fish share/doc/ipytracer/copyright \
        lib/systemd/system/ipytracer-serve.service lib/systemd/system/ipytracer-agent.service \
        lib/systemd/system/ipytracer-agent.socket lib/systemd/system/ipytracer-agent-hub.socket \
        lib/systemd/system/ipytracer@.service; do
        types dpkg -L ipytracer | grep -qx "/usr/$file" || fails "the package has no /usr/$file"
    done
    for file in $(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$top"/usr/lib/systemd/system/ipytracer*.service); do
        [ -x "$top$file" ] || fails "a unit starts $file, which is not there"
    done
    uses tracer python3
    agent tracer
    quietly "tracer selftest" types tracer selftest --python /usr/bin/python3
    quietly "apt remove" types apt-get remove -y ipytracer
    ! types which tracer >/dev/null || fails "apt remove leaves tracer"
    echo "test-release: $1: the Debian package"
}

# wheel SUITE: the wheel is installed by pip without network, each file as its record says, used, and removed.
wheel() {
    layer "$1"
    cp "$release"/ipytracer-*_"$(uname -m)".whl "$top/root/"
    quietly "a virtual environment" types python3 -m venv --system-site-packages /root/venv
    quietly "pip install" types sh -c '/root/venv/bin/pip install --no-index /root/ipytracer-*.whl'
    quietly "the wheel's record" types /root/venv/bin/python - <scripts/release/recorded.py
    quietly "import ipytracer" types /root/venv/bin/python -c 'import ipytracer'
    quietly "counting arrays" types /root/venv/bin/python -c "import numpy
from ipytracer._counts import COUNTS
COUNTS.begin()
array = numpy.ones(1000)
assert COUNTS.take().current == 8000"
    uses /root/venv/bin/tracer /root/venv/bin/python
    quietly "pip uninstall" types /root/venv/bin/pip uninstall -y ipytracer
    [ ! -e "$top/root/venv/bin/tracer" ] || fails "pip uninstall leaves tracer"
    echo "test-release: $1: the wheel"
}

# static SUITE: the program is used as it is, and started where there is nothing else at all.
static() {
    layer "$1"
    install -D -m 755 "$release/tracer-$arch" "$top/root/nothing/tracer"
    [ "$(chroot "$top/root/nothing" /tracer version)" = "tracer $version" ] ||
        fails "the static program needs something"
    uses /root/nothing/tracer python3
    ! types /root/nothing/tracer agent check 2>"$work/said" && grep -q 'is not there' "$work/said" ||
        fails "without the agent's program: $(cat "$work/said")"
    install -m 755 "$release/tracer-agent-$arch" "$top/root/nothing/tracer-agent"
    agent /root/nothing/tracer
    echo "test-release: $1: the static program"
}

# image SUITE: it is imported into Debian's containerd; a container of it, which sees the machine's processes, traces
# one.
image() {
    local name container=ipytracer-test pid one caps=()
    layer "$1"
    quietly "apt install containerd" types apt-get install -y --no-install-recommends containerd runc
    printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >"$top/root/config"
    chroot "$top" env -i PATH=/usr/sbin:/usr/bin containerd --config /root/config --root /run/images \
        --state /run/state --address /run/ctd >"$work/containerd" 2>&1 & # no function: the number is to be its own
    daemon=$!
    for _ in $(seq 100); do [ ! -S "$top/run/ctd" ] || break; sleep 0.1; done
    cp "$release/ipytracer-$version-image-$arch.tar" "$top/run/"
    quietly "ctr images import" types ctr -a /run/ctd images import "/run/ipytracer-$version-image-$arch.tar"
    name=$(types ctr -a /run/ctd images list -q)
    types ctr -a /run/ctd run --rm "$name" "$container" >"$work/help"
    grep -q 'All commands: tracer --help' "$work/help" || fails "the image does not start tracer"
    types ctr -a /run/ctd run --rm "$name" "$container" tracer agent check >"$work/check" ||
        fails "the image has no agent"
    [ "$(types ctr -a /run/ctd run --rm "$name" "$container" tracer version)" = "tracer $version" ] ||
        fails "the image is not $version"
    for one in BPF PERFMON SYS_PTRACE DAC_READ_SEARCH CHECKPOINT_RESTORE; do caps+=(--cap-add "CAP_$one"); done

    mkfifo "$top/root/cells"
    types sh -c "echo \$\$ >/root/pid; exec $(shell python3) </root/cells" >/dev/null 2>&1 &
    exec 3>"$top/root/cells"
    echo 'open("/root/ready", "w").close()' >&3
    for _ in $(seq 300); do [ ! -e "$top/root/ready" ] || break; sleep 0.1; done
    pid=$(cat "$top/root/pid")
    types timeout 120 ctr -a /run/ctd run --rm "${caps[@]}" --with-ns "pid:/proc/$pid/ns/pid" "$name" "$container" \
        tracer attach --format json "$pid" \
        >"$work/report.json" 2>"$work/attach" 3>&- &
    one=$!
    for _ in $(seq 300); do ! grep -q 'attached to process' "$work/attach" || break; sleep 0.1; done
    cat scripts/release/cells.py >&3
    exec 3>&-
    wait "$one" || { tail -n 20 "$work/attach" "$work/containerd" >&2; fails "the container could not trace"; }
    scripts/release/judge.py "$work/report.json"
    kill "$daemon"
    wait "$daemon" || true
    daemon=
    echo "test-release: $1: the image"
}

# The files for the other architecture are not run here, but they are what they are called.
machines=(amd64:X86-64 arm64:AArch64)
for one in "${machines[@]}"; do
    for program in "$release/tracer-${one%:*}" "$release/tracer-agent-${one%:*}"; do
        readelf -h "$program" | grep -q "Machine: .*${one#*:}" || fails "$program is for another processor"
        ! readelf -l "$program" | grep -q INTERP || fails "$program is not static"
    done
    [ "$(dpkg-deb -f "$release/ipytracer_${version}_${one%:*}.deb" Architecture)" = "${one%:*}" ] ||
        fails "the package for ${one%:*} is for another architecture"
done
(cd "$release" && quietly "SHA256SUMS" sha256sum --strict -c SHA256SUMS)
[ "$(cd "$release" && ls | grep -vx SHA256SUMS)" = "$(sed 's/^[^ ]*  //' "$release/SHA256SUMS")" ] ||
    fails "SHA256SUMS lists other files"
python3 -m zipfile -l "$release/ipytracer-$version.vsix" | grep -q ^extension/dist/extension.js ||
    fails "the extension of VS Code has no program"
for suite; do
    made "$suite"
    package "$suite"
    wheel "$suite"
done
static "$1"
image "${!#}"

#!/usr/bin/env bash
# Gets the engines of `make test-fleet` once, below $FLEET_DIR (/var/tmp/ipytracer-fleet). Nothing is installed.
#
#   scripts/fleet/get.sh ENGINE ...
#
#   prometheus        Debian's package of the unstable distribution, unpacked (Apache-2.0)
#   victoria-metrics  the same (Apache-2.0)
#   jupyterhub        a tree of Debian 12 with its JupyterHub (BSD-3-Clause), 0.7 GB; a minute
#
# Idempotent: existing engines stay. Needs curl, dpkg-deb and, for jupyterhub, root and debootstrap.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

dir=${FLEET_DIR:-/var/tmp/ipytracer-fleet}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# unpacked NAME FILE SUM PROGRAM: puts a program of a Debian package into $dir/NAME. The package must have this SHA-256
# sum. The unstable distribution keeps one version only: once it has the next, FILE and SUM are changed here.
unpacked() {
    [ ! -e "$dir/$1/.complete" ] || return 0
    curl --fail --silent --show-error --location --retry 3 -o "$work/$1.deb" "$mirror/pool/main/$2" || {
        echo "get.sh: Debian does not have $2; name its next version and the checksum in scripts/fleet/get.sh" >&2
        exit 1
    }
    echo "$3  $work/$1.deb" | sha256sum --quiet --check - || {
        echo "get.sh: $2 has another checksum than before" >&2
        exit 1
    }
    rm -rf "$dir/$1" && mkdir "$dir/$1"
    dpkg-deb --fsys-tarfile "$work/$1.deb" | tar -x -C "$dir/$1" --strip-components 3 "./usr/bin/$4"
    touch "$dir/$1/.complete"
}

get_prometheus() {
    unpacked prometheus-3.5.3 "p/prometheus/prometheus_3.5.3+ds1-6_amd64.deb" \
        593bcced02d8082688ea034dfc543848ad145c5f793aae5aad756c4dbdfa98da prometheus
}

get_victoria-metrics() {
    unpacked victoria-metrics-1.145.0 "v/victoriametrics/victoria-metrics_1.145.0+ds1-2_amd64.deb" \
        c858b5c15b1c3a3872ec7520cddb2bb51fc48d4b61b6b88f05ac7304edb44557 victoria-metrics
}

get_jupyterhub() {
    local tree=$dir/jupyterhub-3.0.0/tree
    [ ! -e "$dir/jupyterhub-3.0.0/.complete" ] || return 0
    echo "making a tree of Debian with JupyterHub …" >&2
    rm -rf --one-file-system "$dir/jupyterhub-3.0.0" && mkdir "$dir/jupyterhub-3.0.0"
    {
        debootstrap --variant=minbase --include=ca-certificates bookworm "$tree" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} &&
            unshare --mount --propagation private bash -ec ". $here/../tree.sh; connected \"$tree\"; "'
                export DEBIAN_FRONTEND=noninteractive
                chroot "$0" apt-get update
                chroot "$0" apt-get install -y --no-install-recommends jupyterhub python3-ipykernel python3-numpy
                chroot "$0" apt-get clean
                for user in ada:3001 bob:3002; do
                    chroot "$0" useradd --no-create-home --uid "${user#*:}" "${user%:*}"
                done' "$tree"
    } >"$work/log" 2>&1 || {
        tail -n 30 "$work/log" >&2
        echo "get.sh: JupyterHub could not be installed in a tree" >&2
        exit 1
    }
    touch "$dir/jupyterhub-3.0.0/.complete"
}

for engine; do
    mkdir "$work/$engine"
    cd "$work/$engine"
    "get_$engine"
done

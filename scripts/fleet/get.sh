#!/usr/bin/env bash
# Gets the engines of `make test-fleet` once, below $FLEET_DIR (/var/tmp/ipytracer-fleet). Nothing is installed.
#
#   scripts/fleet/get.sh ENGINE ...
#
#   prometheus        Debian's package of the unstable distribution, unpacked (Apache-2.0)
#   victoria-metrics  the same (Apache-2.0)
#   pull              nothing: it is `go tool pprof`
#   otelcol           the OpenTelemetry collector of otelcol/, compiled (Apache-2.0); a minute
#   jupyterhub        a tree of Debian 12 with its JupyterHub (BSD-3-Clause), 0.7 GB; a minute
#   runc              the same as kubernetes; runc itself is Debian's, which scripts/install.sh installs (Apache-2.0)
#   kubernetes        kube-apiserver, compiled of its Go module; Debian's etcd and kubectl, unpacked
#                     (Apache-2.0); 6 minutes
#
# Idempotent: existing engines stay. Needs curl, dpkg-deb, Go and, for jupyterhub, root and debootstrap. Compiling takes
# 4 GB of Go's caches.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

dir=${FLEET_DIR:-/var/tmp/ipytracer-fleet}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9
folder=$("$here/../go.sh")
PATH=${folder:+$folder:}$PATH
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

# go COMMAND ...: runs Go in the folder of a module. Go checks each module that the folder has no sum of against its
# checksum database.
go() {
    CGO_ENABLED=0 GOFLAGS="-trimpath -mod=mod" GOWORK=off nice -n 19 go "$@"
}

# module MODULE VERSION: makes the current folder a module with everything that another one requires and replaces.
module() {
    local from
    go mod download "$1@$2"
    from=$(go env GOMODCACHE)/$1@$2
    install -m 644 "$from/go.mod" "$from/go.sum" .
    go mod edit -module fleet -require "$1@$2"
}

# compiled NAME PROGRAM PACKAGE [FLAG ...]: compiles a program in the current folder into $dir/NAME.
compiled() {
    echo "compiling $1 …" >&2
    rm -rf "$dir/$1" && mkdir "$dir/$1"
    go build -ldflags "-s -w ${*:4}" -o "$dir/$1/$2" "$3" >"$work/log" 2>&1 || {
        tail -n 30 "$work/log" >&2
        echo "get.sh: $1 could not be compiled" >&2
        exit 1
    }
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

get_pull() {
    :
}

get_otelcol() {
    [ ! -e "$dir/otelcol-0.160.0/.complete" ] || return 0
    cp "$here"/otelcol/{go.mod,main.go} .
    compiled otelcol-0.160.0 otelcol .
}

get_kubernetes() {
    unpacked kubectl-1.36.4 "k/kubernetes/kubectl_1.36.4+ds-1_amd64.deb" \
        407dad9ec755a64ef8c96dd2f5c0c093f9d334193c91cc0ce8424928cd5734d3 kubectl
    unpacked etcd-3.5.30 "e/etcd/etcd-server_3.5.30-2_amd64.deb" \
        11a4f7e350c5020b83edff5160a6063d4e56ac9cd014d21ce8916378bf96de79 etcd
    [ ! -e "$dir/kube-apiserver-1.36.3/.complete" ] || return 0
    module k8s.io/kubernetes v1.36.3
    sed -i 's#=> ./staging/src/\(k8s.io/[a-z-]*\)#=> \1 v0.36.3#' go.mod
    local version=k8s.io/component-base/version
    compiled kube-apiserver-1.36.3 kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver \
        "-X $version.gitVersion=v1.36.3 -X $version.gitMajor=1 -X $version.gitMinor=36"
}

get_runc() {
    get_kubernetes
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

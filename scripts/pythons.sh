#!/usr/bin/env bash
# Builds the other Pythons the tests run on: Debian chroots (3.9, 3.13, 3.14), one with PyTorch for CUDA, builds that
# are not Debian's (python-build-standalone, taken from the Go module that embeds it), and builds as people make them, of
# Debian's source packages. Idempotent: a finished tree is left alone. Needs root, debootstrap and Go.
#
#   scripts/pythons.sh [NAME ...]      names: bullseye trixie sid torch pbs311 pbs314 plain313 (default: all)
set -euo pipefail

dir=${PYTHONS_DIR:-/var/tmp/ipytracer-pythons}
# DEBIAN_MIRROR: where from; else debootstrap's own default
mirror=()
[ -z "${DEBIAN_MIRROR:-}" ] || mirror=("$DEBIAN_MIRROR")
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(bullseye trixie sid torch pbs311 pbs314 plain313)
mkdir -p "$dir"

# extra SUITE: what only some suites have and the benchmarks or the recording test use.
extra() {
    case $1 in
    trixie) echo python3-memray ;;
    sid) echo python3.14 python3.15 libpython3.15 python3-pyarrow python3-pandas python3-memray ;;
    esac
}

# unfinished NAME: says that making a tree has failed, and how.
unfinished() {
    tail -n 20 "$dir/$1.log" >&2
    echo "pythons.sh: $1 did not finish, see $dir/$1.log" >&2
}

chroot_with() {
    local suite=$1 done="$dir/$1/.complete" keyring=()
    [ -e "$done" ] && return
    rm -rf "${dir:?}/$suite"
    # An archived suite may be signed by keys the host no longer ships; these trees only ever run tests.
    [ "$suite" = bullseye ] && keyring=(--no-check-gpg)
    {
        # debootstrap does not resolve virtual packages (python3-zmq needs some), apt does.
        debootstrap "${keyring[@]}" --variant=minbase "$suite" "$dir/$suite" "${mirror[@]}" &&
            DEBIAN_FRONTEND=noninteractive chroot "$dir/$suite" apt-get -o APT::Sandbox::User=root install -y --no-install-recommends \
                python3 ipython3 python3-ipykernel python3-jupyter-client python3-numpy $(extra "$suite")
    } >"$dir/$suite.log" 2>&1 </dev/null || {
        unfinished "$suite"
        return 1
    }
    rm -rf "$dir/$suite/var/cache/apt/archives" "$dir/$suite/var/lib/apt/lists"
    touch "$done"
}

# PyTorch for CUDA, of Debian's contrib section, on trixie's Python. NVIDIA's libraries, which it is linked against, are not
# installed: the tests bring stand-ins (testdata/gpu/pytorch). So its packages are unpacked, what else they need is installed.
torch() {
    local done="$dir/torch/.complete" root="$dir/torch"
    [ -e "$done" ] && return
    chroot_with trixie
    rm -rf "${root:?}"
    cp -a "$dir/trixie" "$root"
    rm "$root/.complete"
    sed -i 's/ main$/ main contrib/' "$root/etc/apt/sources.list"
    # In the left side of || the shell goes on after errors, hence the &&.
    {
        chroot "$root" apt-get -o APT::Sandbox::User=root update &&
            DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -o APT::Sandbox::User=root install -y --no-install-recommends \
                libblas3 libcpp-httplib0.18 libcpuinfo0 libdnnl3.6 libfmt10 libgomp1 libhiredis1.1.0 libibverbs1 liblapack3 libnuma1 \
                libonnx1t64 libopenmpi40 libprotobuf32t64 libpthreadpool0 libsleef3 libuv1t64 libvulkan1 libxnnpack0.20241108 libz3-4 \
                libzstd1 python3-filelock python3-fsspec python3-jinja2 python3-networkx python3-packaging python3-psutil \
                python3-requests python3-sympy python3-typing-extensions python3-yaml &&
            chroot "$root" sh -c 'cd /opt && apt-get -o APT::Sandbox::User=root download \
                libtorch-cuda-2.6 python3-torch-cuda libgloo-cuda-0 libtensorpipe-cuda-0' &&
            bash -ec 'for package in "$0"/opt/*.deb; do dpkg-deb -x "$package" "$0"; done' "$root" &&
            chroot "$root" ldconfig
    } >"$dir/torch.log" 2>&1 </dev/null || {
        unfinished torch
        return 1
    }
    rm -rf "$root"/opt/*.deb "$root/var/cache/apt/archives" "$root/var/lib/apt/lists"
    touch "$done"
}

standalone() {
    local name=$1 version=$2 done="$dir/$1/.complete" mod
    [ -e "$done" ] && return
    rm -rf "${dir:?}/$name"
    mod=$(go mod download -json "github.com/kluctl/go-embed-python@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    mkdir -p "$dir/$name"
    python3 - "$mod/python/internal/data" "$dir/$name" <<'PY'
import gzip, os, sys
src, dst = sys.argv[1:]
root = next(os.path.join(src, d) for d in sorted(os.listdir(src)) if d.startswith("linux-amd64"))
for base, _, files in os.walk(root):
    for f in files:
        p = os.path.join(base, f)
        q = os.path.join(dst, os.path.relpath(p, root))
        if f == "files.json" or f.endswith(".go"):
            continue
        if q.endswith(".gz"):
            q = q[:-3]
        os.makedirs(os.path.dirname(q), exist_ok=True)
        data = open(p, "rb").read()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        open(q, "wb").write(data)
        os.chmod(q, 0o755)
PY
    touch "$done"
}

# compilers: a chroot like trixie, with what it takes to compile CPython 3.13, and its source as Debian has it from upstream.
# The builds are in it, each below /opt, and use the chroot's libraries: IPython, ipykernel, NumPy are for the same version.
compilers() {
    local root="$dir/builds" done="$dir/builds/.complete"
    [ -e "$done" ] && return
    chroot_with trixie
    rm -rf "${root:?}"
    cp -a "$dir/trixie" "$root"
    rm "$root/.complete"
    {
        sed 's/^deb /deb-src /' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/source.list" &&
            chroot "$root" apt-get -o APT::Sandbox::User=root update &&
            DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get -o APT::Sandbox::User=root install -y --no-install-recommends \
                gcc make libc6-dev libffi-dev libsqlite3-dev libssl-dev xz-utils zlib1g-dev &&
            chroot "$root" sh -c 'cd /usr/src && apt-get -o APT::Sandbox::User=root source --download-only --tar-only python3.13'
    } >"$dir/builds.log" 2>&1 </dev/null || {
        unfinished builds
        return 1
    }
    rm -rf "$root/var/cache/apt/archives" "$root/var/lib/apt/lists"
    touch "$done"
}

# built NAME [ARGUMENT ...]: CPython 3.13, made with the arguments of configure, in /opt/NAME of the chroot builds. It has no pip:
# Debian's libraries are on its path.
built() {
    local name=$1 root="$dir/builds" done="$dir/builds/opt/$1/.complete"
    shift
    [ -e "$done" ] && return
    compilers
    rm -rf "${root:?}/opt/$name" "$root/usr/src/$name"
    mkdir "$root/usr/src/$name"
    # shellcheck disable=SC2016
    chroot "$root" bash -ec '
        name=$1
        cd "/usr/src/$name"
        tar -xf ../python3.13_*.orig.tar.xz --strip-components 1
        shift
        ./configure --prefix="/opt/$name" --with-ensurepip=no "$@"
        make -j2
        make install
        echo /usr/lib/python3/dist-packages >"/opt/$name/lib/python3.13/site-packages/debian.pth"
        cd / && "/opt/$name/bin/python3.13" -c "import ctypes, sqlite3, ssl, zlib, numpy, ipykernel"
    ' bash "$name" "$@" >"$dir/$name.log" 2>&1 </dev/null || {
        unfinished "$name"
        return 1
    }
    rm -rf "${root:?}/usr/src/$name"
    touch "$done"
}

for name in "${names[@]}"; do
    case $name in
    bullseye | trixie | sid) chroot_with "$name" ;;
    torch) torch ;;
    pbs311) standalone pbs311 v0.0.0-3.11.11-20241219-1 ;;
    pbs314) standalone pbs314 v0.0.0-3.14.6-20260610-1 ;;
    plain313) built plain313 ;; # what pyenv makes: static, -O3, no LTO, no PGO
    *)
        echo "pythons.sh: unknown name $name" >&2
        exit 2
        ;;
    esac
done

#!/usr/bin/env bash
# Builds the other Pythons that the tests run on: Debian chroots (3.9, 3.13, 3.14), one with PyTorch for CUDA, one with
# JupyterLab, builds that are not Debian's (python-build-standalone, taken from the Go module that embeds it), and
# builds as users make them, of Debian's source packages. Idempotent: a finished tree is left alone. Needs root,
# debootstrap and Go.
#
#   scripts/pythons.sh [NAME ...]      default: those of CI; all: every one
set -euo pipefail

ci=(bullseye trixie sid torch lab pbs311 pbs314 plain313 plain313t)
builds=(shared313 o2313 lto313 conda313 clang313 musl313 plain39 plain314 plain314t) # some minutes each
# numpy1.22, numpy1.23: these releases of NumPy, for Python 3.9, which no Debian has. NUMPY_GIT is a clone of NumPy's
# repository, with its tags.

dir=${PYTHONS_DIR:-/var/tmp/ipytracer-pythons}
# DEBIAN_MIRROR: the mirror; else debootstrap's own default
mirror=()
[ -z "${DEBIAN_MIRROR:-}" ] || mirror=("$DEBIAN_MIRROR")
names=("$@")
case $* in
'') names=("${ci[@]}") ;;
all) names=("${ci[@]}" "${builds[@]}") ;;
esac
mkdir -p "$dir"
# Two at a time would build in the same trees.
exec 9>"$dir/.lock"
flock 9
# A mirror may lag behind a suite that moves, and the packages of these trees were chosen long before.
apt=(-o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false)

# extra SUITE: packages that only some suites have and the benchmarks or the recording test use.
extra() {
    case $1 in
    bullseye) echo libpython3.9 ;;
    trixie) echo libpython3.13 python3-memray ;;
    sid) echo python3.14 python3.15 libpython3.14 libpython3.15 python3-pyarrow python3-pandas python3-memray ;;
    esac
}

# unfinished NAME: says that making a tree has failed, and how.
unfinished() {
    tail -n 20 "$dir/$1.log" >&2
    echo "pythons.sh: $1 did not finish, see $dir/$1.log" >&2
}

# finished NAME: deletes apt's caches, and marks the tree as whole.
finished() {
    rm -rf "$dir/$1/var/cache/apt/archives" "$dir/$1/var/lib/apt/lists"
    touch "$dir/$1/.complete"
}

# copied FROM TO: starts a tree as a copy of another. Tests may run in that one: mounts over its folders are not copied.
copied() {
    local under
    ! grep -qF " $(readlink -f "$dir")/$2/" /proc/mounts || {
        echo "pythons.sh: tests run in $dir/$2, or have left folders mounted there" >&2
        return 1
    }
    rm -rf "${dir:?}/${2:?}"
    under=$(mktemp -d)
    mount --bind "$dir/$1" "$under"
    cp -a "$under" "$dir/$2" || rm -rf "${dir:?}/$2"
    umount "$under"
    rmdir "$under"
    rm "$dir/$2/.complete"
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
            DEBIAN_FRONTEND=noninteractive chroot "$dir/$suite" \
                apt-get -o APT::Sandbox::User=root install -y --no-install-recommends \
                python3 ipython3 python3-ipykernel python3-jupyter-client python3-numpy $(extra "$suite")
    } >"$dir/$suite.log" 2>&1 </dev/null || {
        unfinished "$suite"
        return 1
    }
    finished "$suite"
}

# PyTorch for CUDA, of Debian's contrib section, on trixie's Python. NVIDIA's libraries, which it is linked against, are
# not installed: the tests bring stand-ins (testdata/gpu/pytorch). So its packages are unpacked, and their other
# dependencies are installed.
torch() {
    local done="$dir/torch/.complete" root="$dir/torch"
    [ -e "$done" ] && return
    chroot_with trixie
    copied trixie torch
    sed -i 's/ main$/ main contrib/' "$root/etc/apt/sources.list"
    # In the left side of || the shell goes on after errors, hence the &&.
    {
        chroot "$root" apt-get -o APT::Sandbox::User=root update &&
            DEBIAN_FRONTEND=noninteractive chroot "$root" \
                apt-get -o APT::Sandbox::User=root install -y --no-install-recommends \
                libblas3 libcpp-httplib0.18 libcpuinfo0 libdnnl3.6 libfmt10 libgomp1 libhiredis1.1.0 libibverbs1 \
                liblapack3 libnuma1 libonnx1t64 libopenmpi40 libprotobuf32t64 libpthreadpool0 libsleef3 libuv1t64 \
                libvulkan1 libxnnpack0.20241108 libz3-4 libzstd1 \
                python3-filelock python3-fsspec python3-jinja2 python3-networkx python3-packaging python3-psutil \
                python3-requests python3-sympy python3-typing-extensions python3-yaml &&
            chroot "$root" sh -c 'cd /opt && apt-get -o APT::Sandbox::User=root download \
                libtorch-cuda-2.6 python3-torch-cuda libgloo-cuda-0 libtensorpipe-cuda-0' &&
            bash -ec 'for package in "$0"/opt/*.deb; do dpkg-deb -x "$package" "$0"; done' "$root" &&
            chroot "$root" ldconfig
    } >"$dir/torch.log" 2>&1 </dev/null || {
        unfinished torch
        return 1
    }
    rm -rf "$root"/opt/*.deb
    finished torch
}

# JupyterLab 4, of sid, beside what sid's tree has.
lab() {
    local done="$dir/lab/.complete" root="$dir/lab"
    [ -e "$done" ] && return
    chroot_with sid
    copied sid lab
    {
        chroot "$root" apt-get "${apt[@]}" update &&
            DEBIAN_FRONTEND=noninteractive chroot "$root" \
                apt-get "${apt[@]}" install -y --no-install-recommends jupyterlab &&
            chroot "$root" jupyter-lab --version
    } >"$dir/lab.log" 2>&1 </dev/null || {
        unfinished lab
        return 1
    }
    finished lab
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
machine = "linux-" + {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
root = next(os.path.join(src, d) for d in sorted(os.listdir(src)) if d.startswith(machine))
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

# compilers SUITE TREE VERSION: makes a chroot TREE like the suite's, with the packages that compile CPython, and the
# source of that version as Debian has it from upstream. The builds are in it, each below /opt, and use the chroot's
# libraries: IPython, ipykernel and NumPy are for the same version.
compilers() {
    local suite=$1 tree=$2 version=$3 root="$dir/$2" done="$dir/$2/.complete"
    [ -e "$done" ] && return
    chroot_with "$suite"
    copied "$suite" "$tree"
    {
        sed 's/^deb /deb-src /' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/source.list" &&
            chroot "$root" apt-get "${apt[@]}" update &&
            DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get "${apt[@]}" install -y --no-install-recommends \
                gcc make libc6-dev libffi-dev libsqlite3-dev libssl-dev xz-utils zlib1g-dev &&
            chroot "$root" sh -c "cd /usr/src && apt-get ${apt[*]} source --download-only --tar-only python$version"
    } >"$dir/$tree.log" 2>&1 </dev/null || {
        unfinished "$tree"
        return 1
    }
    finished "$tree"
}

# installed TREE PACKAGE ...: installs packages that only some builds need.
installed() {
    local root="$dir/$1"
    shift
    chroot "$root" dpkg -s "$@" >/dev/null 2>&1 && return
    chroot "$root" apt-get "${apt[@]}" update &&
        DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get "${apt[@]}" install -y --no-install-recommends "$@"
    rm -rf "$root/var/cache/apt/archives" "$root/var/lib/apt/lists"
}

# compiled NAME TREE VERSION MODULES [ARGUMENT ...]: makes CPython with these arguments of configure, in /opt/NAME of
# the tree, where it can import the modules. It has no pip: Debian's libraries are on its path.
compiled() {
    local name=$1 root="$dir/$2"
    rm -rf "${root:?}/opt/$name" "$root/usr/src/$name"
    mkdir "$root/usr/src/$name"
    # Tests that run meanwhile lay the machine's /tmp over the tree's: the compiler's files are elsewhere.
    # shellcheck disable=SC2016
    TMPDIR="/usr/src/$name" chroot "$root" bash -ec '
        name=$1 version=$3 modules=$4
        shift 4
        cd "/usr/src/$name"
        tar -xf ../python"${version}"_*.orig.tar.xz --strip-components 1
        ./configure --prefix="/opt/$name" --with-ensurepip=no --disable-test-modules "$@"
        make -j2
        make install
        site=$("/opt/$name/bin/python$version" -c "import site; print(site.getsitepackages()[0])")
        echo /usr/lib/python3/dist-packages >"$site/debian.pth"
        # IPython imports sqlite3, and needs nothing of it where its history is off.
        "/opt/$name/bin/python$version" -c "import _sqlite3" || printf "%s\n" \
            "class Error(Exception): pass" "DatabaseError = OperationalError = IntegrityError = Error" \
            "class Connection: pass" "def register_converter(*_): pass" "register_adapter = register_converter" \
            >"${site%/site-packages}/sqlite3/__init__.py"
        # Only Debian'"'"'s interpreter knows the name that Debian gives to modules for all versions.
        find /usr/lib/python3/dist-packages -name "*.abi3-*-linux-gnu.so" | while read -r file; do
            ln -sf "${file##*/}" "${file%.abi3-*}.abi3.so"
        done
        cd / && "/opt/$name/bin/python$version" -c "import $modules"
    ' bash "$@"
    rm -rf "${root:?}/usr/src/$name"
}

# built NAME: makes a build as users make them, from the table.
built() {
    local name=$1 suite=trixie tree=builds version=3.13 packages=() arguments=()
    local modules='ctypes, _sqlite3, ssl, zlib, numpy, ipykernel.kernelbase'
    local shared=(--enable-shared "LDFLAGS=-Wl,-rpath,/opt/$name/lib")
    case $name in
    *314 | *314t) suite=sid tree=builds-sid version=3.14 ;;
    *39) suite=bullseye tree=builds-bullseye version=3.9 ;;
    esac
    case $name in
    plain3*t)                                                    # free-threaded: Debian has no libraries for it
        modules='ctypes, sqlite3, ssl, zlib, IPython' arguments=(--disable-gil)
        ;;
    plain3*) ;;                                                  # as pyenv makes it: static, -O3, no LTO, no PGO
    shared3*) arguments=("${shared[@]}") ;;                      # the same, as a library
    o23*) arguments=(OPT='-DNDEBUG -g -fwrapv -O2 -Wall') ;;
    lto3*)                                # as official container images, but for PGO: Debian's libraries have both
        arguments=("${shared[@]}" --with-lto OPT='-DNDEBUG -fwrapv -O3 -Wall')
        ;;
    clang3*) packages=(clang) arguments=(CC=clang OPT='-DNDEBUG -fwrapv -O3 -Wall') ;;
    conda3*)                                                     # conda-forge's flags, but for PGO
        arguments=(--with-lto OPT='-DNDEBUG -fwrapv -O2 -Wall' LDFLAGS='-s -Wl,-O2 -Wl,--sort-common -Wl,--gc-sections'
            CFLAGS="-fno-plt -fno-semantic-interposition -ffunction-sections -ftree-vectorize -fPIC \
-fstack-protector-strong")
        ;;
    musl3*)                                                      # modules that are made for glibc cannot be loaded
        packages=(musl-tools) modules=IPython arguments=(CC=/opt/musl-cc)
        ;;
    esac
    [ -e "$dir/$tree/opt/$name/.complete" ] && return
    compilers "$suite" "$tree" "$version"
    # In the left side of || the shell goes on after errors: missing files reveal a failure.
    (
        set -e
        [ ${#packages[@]} -eq 0 ] || installed "$tree" "${packages[@]}"
        # gcc with musl's specs claims to be one of glibc's, which confuses configure.
        [ "${packages[*]}" != musl-tools ] || install /dev/stdin "$dir/$tree/opt/musl-cc" <<'SH'
#!/bin/sh
[ "$1" = --print-multiarch ] && echo "$(uname -m)-linux-musl" || exec musl-gcc "$@"
SH
        compiled "$name" "$tree" "$version" "$modules" "${arguments[@]}"
    ) >"$dir/$name.log" 2>&1 </dev/null &
    wait $! || {
        unfinished "$name"
        return 1
    }
    touch "$dir/$tree/opt/$name/.complete"
}

# numpy VERSION: builds the last NumPy of a minor version, without instructions of newer processors and BLAS, in
# /opt/numpy-VERSION of a tree like bullseye. Its Cython is older than NumPy asks for.
numpy() {
    local root="$dir/numpys" to="/opt/numpy-$1" tag
    [ -e "$root$to/.complete" ] && return
    tag=$(git -C "${NUMPY_GIT:?names a clone of the repository of NumPy}" tag --list "v$1.*" --sort=-version:refname |
        grep -m 1 -E '^v[0-9.]+$')
    if [ ! -e "$root/.complete" ]; then
        chroot_with bullseye
        copied bullseye numpys
        installed numpys gcc g++ python3-dev cython3 python3-setuptools >"$dir/numpys.log" 2>&1 </dev/null ||
            { unfinished numpys; return 1; }
        finished numpys
    fi
    rm -rf "$root/usr/src/numpy" "${root:?}$to"
    mkdir "$root/usr/src/numpy"
    git -C "$NUMPY_GIT" archive "$tag" | tar -x -C "$root/usr/src/numpy"
    sed -i -E "s/(Cython>=|')0\.29\.[0-9]+/\\10.29.0/" "$root"/usr/src/numpy/{pyproject.toml,tools/cythonize.py}
    # shellcheck disable=SC2016
    TMPDIR=/usr/src/numpy NPY_DISABLE_SVML=1 NPY_BLAS_ORDER= NPY_LAPACK_ORDER= chroot "$root" sh -c '
        cd /usr/src/numpy && python3 setup.py build -j2 --cpu-dispatch=none --cpu-baseline=none \
            install --root=/ --install-lib="$1"' sh "$to" >"$dir/numpys.log" 2>&1 </dev/null ||
        { unfinished numpys; return 1; }
    rm -rf "$root/usr/src/numpy"
    touch "$root$to/.complete"
}

for name in "${names[@]}"; do
    case $name in
    bullseye | trixie | sid) chroot_with "$name" ;;
    torch) torch ;;
    lab) lab ;;
    pbs311) standalone pbs311 v0.0.0-3.11.11-20241219-1 ;;
    pbs314) standalone pbs314 v0.0.0-3.14.6-20260610-1 ;;
    numpy1.2[23]) numpy "${name#numpy}" ;;
    plain3* | shared3* | o23* | lto3* | clang3* | conda3* | musl3*) built "$name" ;;
    *)
        echo "pythons.sh: unknown name $name" >&2
        exit 2
        ;;
    esac
done

#!/usr/bin/env bash
# Runs tests in a machine that QEMU emulates, on another kernel or another processor. The tests are built here. There
# they find the files of the repository, and the Python, the compilers and the libraries of a suite of Debian. No KVM
# and no root is needed. An emulated processor is ten to thirty times as slow, so name a few tests.
#
#   scripts/guest-tests.sh VERSION[:SETTING,…] PACKAGE ... [-- FLAG ...]
#   such as ARCH=arm64 scripts/guest-tests.sh 6.12 ./e2e -- -test.run 'TestTruth$'
#
# VERSION is a kernel as scripts/kernels.sh names it, with its settings, PACKAGE a Go package or pattern, or a
# folder with unit tests of Python, FLAG one of each test binary. Tests that need a Go, sudo or a network fail there.
#
# ARCH          of the machine that is emulated, as Debian names it: amd64, or arm64 (amd64)
# CPUS          of that machine (2)
# PYTHON_SUITE  Debian's suite (trixie). It is also the folder of that name among the other Pythons (scripts/pythons.sh)
# PACKAGES      more packages of that suite
# BUILDS        Pythons of scripts/guest-pythons.sh, which are made if they are not there; then all Pythons are tested
# PATIENCE      the most seconds (7200)
# KERNELS_DIR, UBUNTU_MIRROR, MEMORY, CPU   as in scripts/kernels.sh; MEMORY is 8192 MiB
set -euo pipefail
cd "$(dirname "$0")/.."
PATIENCE=${PATIENCE:-7200} MEMORY=${MEMORY:-8192}
. scripts/qemu.sh

version=${1:?VERSION, such as 6.12} suite=${PYTHON_SUITE:-trixie}
shift
packages=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do packages+=("$1"); shift; done
[ $# = 0 ] || shift
[ ${#packages[@]} -gt 0 ] || { echo "guest-tests.sh: no package is named" >&2; exit 2; }
flags=
[ $# = 0 ] || flags=$(printf ' %q' "$@")
units=() go=()
for package in "${packages[@]}"; do
    if compgen -G "$package/test_*.py" >/dev/null; then units+=("${package#./}"); else go+=("$package"); fi
done
packages=()
tested='{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}'
[ ${#go[@]} = 0 ] || mapfile -t packages < <("${GO:-go}" list -f "$tested" "${go[@]}" | sed -n "s,^$PWD/,,p")
kernel "${version%%:*}" >/dev/null
[[ ${BUILDS:-} != *musl* ]] || PACKAGES="${PACKAGES:-} musl"

tree=$(foreign -into "$suite-tests" "$suite" \
    python3 python3-dev python3-pytest ipython3 python3-ipykernel python3-jupyter-client python3-numpy python3-pandas \
    python3-greenlet gcc g++ libc6-dev libjemalloc2 procps util-linux coreutils dash bash sed grep findutils \
    ${PACKAGES:-})
compiled "$tree"
mkdir -p "$work/more/opt"
for build in ${BUILDS:-}; do
    cp -a "$(scripts/guest-pythons.sh "$build")/opt/$build" "$work/more/opt/"
    touch "$work/more/opt/$build/.complete"
done
# Only Debian's interpreter knows the name that Debian gives to modules for all versions.
find "$tree/usr/lib/python3/dist-packages" -name '*.abi3-*-linux-gnu.so' | while read -r file; do
    ln -sf "${file##*/}" "${file%.abi3-*}.abi3.so"
done

# Tests of processes that are not root's need a user, and tests of terminals need devpts.
guest <<INIT
export PATH=/usr/bin:/usr/sbin:/bin LANG=C.UTF-8 GOGC=400 TRACER_REQUIRE_BPF=1 TRACER_BUILT=/built TRACER_SLOWNESS=10
export PYTHONS_DIR=/pythons ${BUILDS:+TRACER_PYTHONS=all}
mkdir -p /dev/pts /dev/shm /run /var/tmp /etc /sys/fs/cgroup
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup
for tree in $suite ${BUILDS:+builds}; do
    for name in usr proc dev sys tmp etc opt; do mkdir -p /pythons/\$tree/\$name; done
    for name in bin lib sbin lib64; do [ ! -L /usr/\$name ] && ln -s usr/\$name /pythons/\$tree/\$name; done
    for name in usr etc opt; do mount --bind /\$name /pythons/\$tree/\$name; done
    touch /pythons/\$tree/.complete
done
ip link set lo up
hostname guest
echo '127.0.0.1 localhost guest' >/etc/hosts
echo 'nobody:x:65534:65534:nobody:/nonexistent:/bin/sh' >>/etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' >/etc/group
(umask 077; echo 'root:*:1::::::' >/etc/shadow)
ln -sf /usr/bin/bash /bin/bash
$(for package in "${packages[@]}"; do
    name=${package//\//_}
    echo "cd /src/$package && /built/$name.test -test.v -test.timeout ${PATIENCE}s$flags 2>&1; echo \"== $package \$?\""
done
for unit in "${units[@]}"; do
    echo "cd /src/$unit && python3 -m unittest -v$flags 2>&1; echo \"== $unit \$?\""
done)
echo "== seconds \$(cut -d. -f1 /proc/uptime)"
poweroff -f
INIT

export CGO_ENABLED=1 CC=$compiler GOARCH=$arch TRACER_SLOWNESS=10
mkdir -p "$work/more/built"
for package in "${packages[@]}"; do
    "${GO:-go}" test -c -vet=off -o "$work/more/built/${package//\//_}.test" "./$package"
    if [ "$package" = e2e ]; then # the tests build it for the machine that GOARCH names
        GOARCH='' CC='' "${GO:-go}" test -c -vet=off -o "$work/e2e.test" ./e2e
        (cd e2e && TRACER_BUILT="$work/more/built" "$work/e2e.test" -test.run '^$')
    fi
done
mkdir -p "$work/more/src"
git ls-files -z | tar -c --null -T - | tar -x -C "$work/more/src"
(cd "$work/more" && find . | cpio -o -H newc -R 0:0 --quiet) >>"$work/initrd"
(cd "$tree" && find usr etc $(compgen -G 'lib/ld-*') \( -type f -o -type l \) \
    ! -path 'usr/share/doc/*' ! -path 'usr/share/man/*' ! -path 'usr/share/locale/*' ! -path 'usr/share/info/*' \
    ! -path '*/dpkg/*' | sed 's,^,/,') | archive "$tree" >>"$work/initrd"

log=$dir/${version%%:*}/tests-$suite${version#"${version%%:*}"}.log
append=tsc=reliable emulate "${CPUS:-2}" "$version" -accel tcg,thread=multi | tee "$log"
echo "$(grep -c '^ *--- PASS\|^test_.* ok$' "$log") passed, $(grep -c '^ *--- SKIP\|^test_.* skipped' "$log") skipped"
failed=0
for package in "${packages[@]}" "${units[@]}"; do
    grep -q "^== $package 0\$" "$log" || { echo "guest-tests.sh: $package failed, see $log" >&2; failed=1; }
done
exit $failed

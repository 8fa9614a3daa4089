#!/usr/bin/env bash
# Installs and uses the products of a release for another processor in a machine that QEMU emulates, which has Debian 13
# with a Python and neither Go, nor a C compiler, nor the repository: the package, the wheel, the static program, and
# the root file system of the image. No KVM and no root is needed.
#
#   ARCH=arm64 scripts/release/guest.sh RELEASE
#
# RELEASE       the folder that scripts/release/build.sh has made
# KERNEL, CPUS  the kernel as scripts/kernels.sh names it (6.12), and the number of processors (2)
# KERNELS_DIR, PATIENCE   as in scripts/kernels.sh
set -euo pipefail
release=$(realpath "${1:?RELEASE, such as bin/release}")
cd "$(dirname "$0")/../.."
. scripts/qemu.sh
version=$(compgen -G "$release/ipytracer_*_$arch.deb") || { echo "guest.sh: $release is no release" >&2; exit 1; }
version=${version##*/ipytracer_}
version=${version%_"$arch".deb}
kernel "${KERNEL:-6.12}" >/dev/null
tree=$(foreign -into trixie-release trixie python3 python3-venv ipython3 python3-numpy ca-certificates dpkg tar gzip \
    xz-utils util-linux coreutils dash sed grep libc-bin)
compiled "$tree"

guest <<'INIT'
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
cd /release
mkdir -p /dev/pts /dev/shm /run /var/tmp /var/lib/dpkg/info /var/lib/dpkg/updates /var/cache
: >/var/lib/dpkg/status
mkdir -p /etc/ssl/certs
cat /usr/share/ca-certificates/mozilla/*.crt >/etc/ssl/certs/ca-certificates.crt # pip reads it, network or not
ip link set lo up
says() { echo "== $1 $?"; }
shell() { echo "$1 -m IPython --simple-prompt --no-banner --HistoryManager.enabled=False"; }
# uses TRACER PYTHON: it is the version, finds that it can trace, and traces a session with known figures.
uses() {
    [ "$($1 version)" = "tracer $(cat version)" ] && $1 doctor --quick &&
        $1 run -q --format json -o /root/report.json -- $(shell $2) <cells.py && python3 judge.py /root/report.json
}

dpkg -i ipytracer_*.deb && [ -z "$(dpkg --verify ipytracer)" ] && uses tracer python3 &&
    tracer agent check && tracer selftest --python /usr/bin/python3 && dpkg -r ipytracer && ! which tracer
says package
python3 -m venv --system-site-packages /root/venv && /root/venv/bin/pip install --no-index ipytracer-*.whl &&
    /root/venv/bin/python recorded.py && uses /root/venv/bin/tracer /root/venv/bin/python &&
    /root/venv/bin/pip uninstall -y ipytracer && [ ! -e /root/venv/bin/tracer ]
says wheel
mkdir -p /root/nothing && cp tracer tracer-agent /root/nothing/ &&
    [ "$(chroot /root/nothing /tracer version)" = "tracer $(cat version)" ] && uses /root/nothing/tracer python3 &&
    /root/nothing/tracer agent check
says static
# The image's program sees the processes of the machine, and traces one of them.
mkfifo /root/cells
python3 unpacked.py *-image-*.tar /root/image && mkdir -p /root/image/proc /root/image/sys /root/image/dev &&
    for one in proc sys dev; do mount --bind /$one /root/image/$one; done &&
    [ "$(chroot /root/image tracer version)" = "tracer $(cat version)" ] && {
    $(shell python3) </root/cells >/dev/null 2>&1 &
    pid=$!
    exec 3>/root/cells
    echo 'open("/root/ready", "w").close()' >&3
    until [ -e /root/ready ]; do sleep 1; done
    chroot /root/image tracer attach --format json $pid >/root/report.json 2>/root/attach 3>&- &
    attach=$!
    until grep -q 'attached to process' /root/attach || ! kill -0 $attach; do sleep 1; done
    cat cells.py >&3
    exec 3>&-
    wait $attach && python3 judge.py /root/report.json || { cat /root/attach; false; }
}
says image
poweroff -f
INIT

mkdir -p "$work/more/release"
cp "$release"/ipytracer*"$arch".* scripts/release/{cells,judge,recorded}.py "$work/more/release/"
case $arch in
arm64) cp "$release"/ipytracer-*aarch64.whl "$work/more/release/" ;;
amd64) cp "$release"/ipytracer-*x86_64.whl "$work/more/release/" ;;
esac
install -m 755 "$release/tracer-$arch" "$work/more/release/tracer"
install -m 755 "$release/tracer-agent-$arch" "$work/more/release/tracer-agent"
echo "$version" >"$work/more/release/version"
cat >"$work/more/release/unpacked.py" <<'PYTHON'
import json, pathlib, platform, sys, tarfile
with tarfile.open(sys.argv[1]) as image:
    read = lambda name: json.load(image.extractfile(name))
    [entry] = read("manifest.json")
    assert read(entry["Config"])["architecture"] == {"aarch64": "arm64", "x86_64": "amd64"}[platform.machine()]
    for layer in entry["Layers"]:
        with tarfile.open(fileobj=image.extractfile(layer)) as files:
            files.extractall(sys.argv[2], filter="tar")
PYTHON
(cd "$work/more" && find . | cpio -o -H newc -R 0:0 --quiet) >>"$work/initrd"
(cd "$tree" && find usr etc lib/ld-* \( -type f -o -type l \) \
    ! -path 'usr/share/doc/*' ! -path 'usr/share/man/*' ! -path 'usr/share/locale/*' ! -path '*/dpkg/info/*' |
    sed 's,^,/,') | archive "$tree" >>"$work/initrd"

log=$dir/release.log failed=0
emulate "${CPUS:-2}" "${KERNEL:-6.12}" -accel tcg,thread=multi | tee "$log"
for product in package wheel static image; do
    grep -q "^== $product 0\$" "$log" || { echo "guest.sh: the $product failed, see $log" >&2; failed=1; }
done
exit $failed

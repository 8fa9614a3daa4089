#!/usr/bin/env bash
# Boots a systemd beside this machine's. It has its own namespaces (pid, mount, IPC, UTS, network, control groups), and
# this machine's files with a layer of memory over them, so that nothing of it is left. It runs one program, and ends
# when that ends.
#
#   boot.sh TRACER CHECK     needs root. CHECK is Python. Its output is printed, and the status is 0 if CHECK's is
set -euo pipefail
top=$(realpath "$(dirname "$0")/../..")

main() {
    [ $# = 2 ] || { echo "usage: boot.sh TRACER CHECK" >&2; exit 2; }
    [ -x /lib/systemd/systemd ] || { echo "boot.sh: there is no systemd here" >&2; exit 3; }
    work=$(mktemp -d "${TMPDIR:-/tmp}/ipytracer-systemd-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    : >"$work/out"
    : >"$work/log"
    local status=0
    unshare --mount --propagation private "$0" --group "$work" "$(realpath "$1")" "$(realpath "$2")" || status=$?
    cat "$work/out"
    [ "$status" = 0 ] || tail -n 50 "$work/log" >&2
    exit "$status"
}

# group: a control group of version 2 for all of it, where this machine mounts them.
group() {
    local work=$1 status=0
    mkdir "$work/groups"
    mount -t cgroup2 groups "$work/groups"
    local own="$work/groups/${work##*/}"
    mkdir "$own"
    echo $$ >"$own/cgroup.procs"
    unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup "$0" --inside "$@" || status=$?
    echo $$ >"$work/groups/cgroup.procs"
    find "$own" -depth -type d -exec rmdir {} + 2>/dev/null || true
    umount "$work/groups"
    rmdir "$work/groups"
    exit "$status"
}

# inside: the root file system, and systemd as process 1.
inside() {
    local work=$1 tracer=$2 check=$3 root=$1/root device
    mkdir "$work/layer" "$root"
    mount -t tmpfs -o mode=755 layer "$work/layer"
    mkdir "$work/layer/upper" "$work/layer/work"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$work/layer/upper,workdir=$work/layer/work" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys" # as containers have it: no udev
    mount -t cgroup2 cgroup "$root/sys/fs/cgroup"
    mount -t tmpfs -o mode=755 run "$root/run"
    mount -t tmpfs -o mode=1777 tmp "$root/tmp"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for device in null zero full random urandom tty; do
        : >"$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"

    # None of this machine's own services: only the tested ones, and the check.
    rm -rf "$root"/etc/systemd/system "$root/etc/fstab" "$root"/usr/lib/systemd/system-generators
    # Made by an agent that this machine has run: systemd would move it, which the layer does not allow.
    rm -rf "$root/var/lib/ipytracer-agent"
    mkdir -p "$root/etc/systemd/system" "$root/usr/local/bin" "$root/opt/check"
    echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
    install -m 755 "$tracer" "$root/usr/local/bin/tracer"
    [ ! -e "$tracer-agent" ] || install -m 755 "$tracer-agent" "$root/usr/local/bin/tracer-agent"
    install -m 644 "$top"/scripts/packaging/*.{service,socket} "$root/etc/systemd/system/"
    cp -r "$top/python/src/ipytracer" "$top/testdata/workloads/run_notebook.py" "$root/opt/check/"
    cp "$(dirname "$check")"/*.py "$root/opt/check/"
    install -m 644 "$check" "$root/opt/check/check.py"
    chmod -R go+rX "$root/opt/check"
    cat >"$root/etc/systemd/system/check.service" <<'UNIT'
[Unit]
DefaultDependencies=no
After=systemd-journald.service
Wants=systemd-journald.service
SuccessAction=exit-force
FailureAction=exit-force
SuccessActionExitStatus=0
FailureActionExitStatus=1
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /opt/check/check.py
StandardOutput=append:/out
StandardError=append:/out
UNIT
    : >"$root/out"
    : >"$root/log"
    mount --bind "$work/out" "$root/out"
    mount --bind "$work/log" "$root/log"
    exec env -i container=ipytracer PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" /bin/sh -c \
        'exec /lib/systemd/systemd --system --unit=check.service --show-status=no --log-target=console \
            </dev/null >/log 2>&1'
}

case ${1:-} in
--group) shift; group "$@" ;;
--inside) shift; inside "$@" ;;
*) main "$@" ;;
esac

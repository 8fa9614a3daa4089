#!/usr/bin/env bash
# Boots kernels in QEMU and checks the figures on each: doctor, then the self-test with its cells, and a table at the
# end (docs/kernels.md has the results). No KVM, no root: the guest has only an initrd with busybox, the tracer and a
# Python, and its only output is the serial console.
#
#   scripts/kernels.sh [VERSION[:SETTING,…] ...]      such as 6.1, 7.2 or 6.18:huge; default: $KERNELS
#
# SETTING       a habit of Linux's the other way: zero, huge, small, sizes, collapse, reclaim (scripts/qemu.sh). The
#               table has what the kernel answers then (testdata/workloads/machine.c)
#
# KERNELS_DIR   where kernels and results are kept (/var/tmp/ipytracer-kernels)
# ARCH          of the machine that is emulated, as Debian names it: amd64, or arm64 (amd64). VERSION-16k and
#               VERSION-64k are arm64 kernels with larger pages: of Debian and of Ubuntu (UBUNTU_MIRROR)
# CPU           the processor, as QEMU names it; for arm64 also cortex-a72, an old one
# PYTHON        the Python, with IPython and NumPy, that runs cells (/usr/bin/python3); "none" for no cells
# PYTHON_SUITE  where the emulated machine is another one than this: Debian's suite with that Python (trixie)
# CPUS          of the machine that is emulated (8)
# CHECKS        the checks to run, of
#               doctor     the kernel's features
#               selftest   programs and cells of known truth; ONLY=spike,exec: these; SELFTESTS=20: as often
#               clock      the same while the machine's clock jumps by a century, back and forth, twice a second
#               beside     the same beside align, a program that only delays, so that threads meet (e2e/storms/)
#               storms     processes and threads that begin and end at the same time (e2e/storms/); STORMS=100: the
#                          usual number of rounds, in percent
#               aligned    the same beside align
#               memory     the OOM killer in a cgroup of version 2, and --limit
#               confined   the rights of the tracer's threads once its probes are in, and a Python probed after that
# PATIENCE      the most seconds for a kernel (1800)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/qemu.sh

python=${PYTHON:-/usr/bin/python3}
CHECKS=${CHECKS:-doctor selftest beside storms aligned memory confined}
[ "$python" != none ] || CHECKS=${CHECKS/memory confined/}
only=${ONLY:+--only "'$ONLY'"} # names with spaces, too
KERNELS=${KERNELS:-5.10 5.15 5.19 6.1 6.2 6.5 6.8 6.11 6.12 6.14 6.16 6.17 6.18 6.19 7.0 7.1 7.2 $habits}
versions=("$@")
[ ${#versions[@]} -gt 0 ] || read -ra versions <<<"$KERNELS"

# foreign_python unpacks the Python of another architecture, compiles it, and prints the folder.
foreign_python() {
    local tree
    tree=$(foreign "${PYTHON_SUITE:-trixie}" python3 ipython3 python3-numpy)
    compiled "$tree"
    echo "$tree"
}

# foreign_files TREE prints the files there that Python needs, from TREE on.
foreign_files() {
    (cd "$1" && find usr lib/ld-* \( -type f -o -type l \) \
        ! -path 'usr/share/*' ! -path '*/gconv/*' ! -path '*/perl*' ! -path '*/tests/*' ! -path '*/numpy/f2py/*' \
        ! -path '*/include/*' ! -path '*/dpkg/*' ! -path '*/third_party/*' ! -path '*/numpy/_core/lib/*' \
        ! -path 'usr/sbin/*' \( ! -path 'usr/bin/*' -o -path 'usr/bin/python3*' \) | sed 's,^,/,')
}

# python_files prints every file the Python needs for IPython and NumPy: the standard library, the packages that
# are loaded, and the libraries they are linked with, each with all its symbolic links.
python_files() {
    "$python" - <<'PY'
import os, subprocess, sys, sysconfig
import IPython.terminal.ipapp, numpy
try:
    import IPython.core.completer, IPython.core.magics, jedi
except ImportError:
    pass

files = set()
skip = {"test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "third_party", "site-packages", "dist-packages"}

def add(path):
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if path in files or not os.path.isfile(path):
        return
    files.add(path)
    if os.path.islink(path):
        add(os.path.join(os.path.dirname(path), os.readlink(path)))

def tree(top):
    for base, dirs, names in os.walk(top):
        dirs[:] = [d for d in dirs if d not in skip and not d.startswith("config-")]
        for name in names:
            add(os.path.join(base, name))

stdlib = os.path.realpath(sysconfig.get_path("stdlib"))
tree(stdlib)
add(sys.executable)
for name, module in list(sys.modules.items()):
    path = os.path.realpath(getattr(module, "__file__", None) or "/")
    top = sys.modules.get(name.partition(".")[0])
    if path == "/" or os.path.commonpath([path, stdlib]) == stdlib and "-packages/" not in path:
        continue
    where = getattr(top, "__file__", None)
    if where and os.path.basename(where) == "__init__.py":
        tree(os.path.dirname(where))
    else:
        add(path)
for path in [p for p in files if ".so" in p or p == os.path.realpath(sys.executable)]:
    for line in subprocess.run(["ldd", path], capture_output=True, text=True).stdout.splitlines():
        for word in line.split():
            if word.startswith("/"):
                add(word)
print("\n".join(files))
PY
}

run_doctor() {
    cat <<'INIT'
/tracer doctor --quick --format json 2>/tmp/err >/tmp/out; status=$?
cat /tmp/out; echo "== doctor $status"
INIT
}

# selftests NAME BEFORE: runs the self-test as often as requested, behind the command BEFORE. GOGC: collecting garbage
# is half of the tracer's own computation, and QEMU computes ten times as slowly.
selftests() {
    cat <<INIT
for i in \$(seq ${SELFTESTS:-1}); do
    GOGC=400 $2 /tracer selftest --format json --python $python $only 2>/tmp/err >/tmp/out; status=\$?
    cat /tmp/out; echo "== $1 \$status \$(grep '^tracer:\|^storms:' /tmp/err | tr '\\n' ' ')"
done
INIT
}

run_selftest() { selftests selftest ""; }

# run_clock: CLOCK_REALTIME jumps; the others do not.
run_clock() {
    cat <<'INIT'
(while :; do date -s @1000000000; sleep 0.5; date -s @4000000000; sleep 0.5; done >/dev/null 2>&1) &
jumps=$!
INIT
    selftests clock ""
    echo 'kill $jumps; echo "== jumped $(date +%Y)"'
}

run_beside() { selftests beside "/storms -meeting $meeting -beside exe,python3,ipython3 --"; }

# storms NAME FLAGS
storms() {
    echo "/storms -program /storm -together -percent ${STORMS:-30} $2 2>/tmp/err; status=\$?; cat /tmp/err"
    echo "echo \"== $1 \$status\""
}

run_storms() { storms storms ""; }

run_aligned() { storms aligned "-aligned -meeting $meeting"; }

meeting=1ms # between the instants at which threads meet: an emulated CPU takes longer to see an end

# run_memory: a cell that takes more than its cgroup has, and the same cell with --limit.
run_memory() {
    cat <<INIT
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/small
echo 600M >/sys/fs/cgroup/small/memory.max
cat >/tmp/take <<'CELLS'
x = []
for i in range(100):
    x.append(bytearray(20 << 20))

len(x)
CELLS
(echo "_ = open('/sys/fs/cgroup/small/cgroup.procs', 'w').write('0')"; cat /tmp/take) >/tmp/cells
ipython="$python -m IPython --simple-prompt --no-banner --no-confirm-exit"
/tracer run --quiet --record /tmp/killed.arrows -- \$ipython </tmp/cells >/tmp/out 2>/tmp/err
/tracer report /tmp/killed.arrows | sed -n '/why it ended/,+1p' | tr '\n' ' ' | sed 's/^/== killed /'
echo
/tracer run --quiet --limit 600MiB --record /tmp/limited.arrows -- \$ipython </tmp/take >/tmp/out 2>/tmp/err
errors=\$(/tracer report --format json /tmp/limited.arrows | grep -c '"kind":"cell".*"status":"error"')
output=\$(grep -o 'Out\[[0-9]*\]: [0-9]*' /tmp/out | tail -n 1)
echo "== limited \$(grep -o MemoryError /tmp/out | tail -n 1) \$errors \$output"
INIT
}

# run_confined: the command is probed when it has become a Python, which is after the tracer has given up its rights.
run_confined() {
    cat <<INIT
mkfifo /tmp/in
/tracer run --quiet --format json -o /tmp/confined.json --ready-file /tmp/ready -- \
    $python -m IPython --simple-prompt --no-banner --no-confirm-exit </tmp/in >/tmp/out 2>/tmp/err &
tracer=\$!
exec 3>/tmp/in
while ! [ -e /tmp/ready ]; do sleep 1; done
echo 'x = bytearray(20 << 20)' >&3
exec 3>&-
status=\$(grep -h "^CapEff\|^NoNewPrivs\|^Seccomp:" /proc/\$tracer/task/*/status | sort -u | tr -d '\t' | tr '\n' ' ')
wait \$tracer
complete=\$(echo \$(grep -o '"complete": *[a-z]*' /tmp/confined.json | sort -u))
echo "== confined \$status \$complete \$(grep -o '"kind": *"cell"' /tmp/confined.json | head -n 1)"
INIT
}

# initrd: the program that runs in every kernel.
initrd() {
    {
        echo 'echo "== release $(uname -r)"'
        for check in $CHECKS; do "run_$check"; done
        echo 'echo "== seconds $(cut -d. -f1 /proc/uptime)"'
        echo 'poweroff -f'
    } | guest
    mkdir -p "$work/more"
    CGO_ENABLED=0 GOARCH=$arch "${GO:-go}" build -trimpath -o "$work/more/storms" ./e2e/storms
    $compiler -O2 -Wall -Wextra -static -pthread -o "$work/more/storm" e2e/storms/c/storm.c
    (cd "$work/more" && find . -type f | cpio -o -H newc -R 0:0 --quiet) >>"$work/initrd"
    if [ "$python" != none ] && [ "$arch" != "$(dpkg --print-architecture)" ]; then
        tree=$(foreign_python)
        foreign_files "$tree" | archive "$tree" >>"$work/initrd"
    elif [ "$python" != none ]; then
        python_files >"$work/files"
        archive <"$work/files" >>"$work/initrd"
    fi
}

# boot VERSION LOG: one run. QEMU trips over code that is patched while other CPUs run it, now and then (int3): such a
# run does not count, and tsc=reliable leaves one reason to patch out.
boot() {
    append=tsc=reliable emulate "${CPUS:-8}" "$1" -accel tcg,thread=multi >"$2" || true
}

initrd
failed=0
echo '| kernel | result | programs of known truth | cells | beside align | storms | storms beside align' \
    '| out of memory | once attached | memory | seconds |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
for version in "${versions[@]}"; do
    kernel "${version%%:*}" >"$work/image" || { failed=1; continue; }
    log=$dir/${version%%:*}/log${version#"${version%%:*}"}
    boot "$version" "$log"
    ! grep -q 'Oops: int3' "$log" || boot "$version" "$log" # see boot
    scripts/kernels_judge.py "$version" "$log" "$CHECKS" "${SELFTESTS:-1}" || failed=1
done
exit $failed

#!/usr/bin/env bash
# Boots kernels in QEMU and proves the figures on each: doctor, then the self-test with its cells, and a table at
# the end (docs/kernels.md has what was seen). No KVM, no root: an initrd with busybox, the tracer and a Python is
# all there is, and the serial console is all that comes out.
#
#   scripts/kernels.sh [VERSION ...]      such as 6.1 or 7.2; default: $KERNELS
#
# KERNELS_DIR   where kernels and results are kept (/var/tmp/ipytracer-kernels)
# PYTHON        the Python, with IPython and NumPy, whose cells run (/usr/bin/python3); "none" for no cells
# CPUS          of the machine that is emulated (2)
# CHECKS        what is run of it ("doctor selftest memory confined"; memory: the OOM killer in a cgroup of version 2, and --limit; confined: what
#               the tracer's threads may do once its probes are in, and a Python that is probed after that)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/qemu.sh

python=${PYTHON:-/usr/bin/python3}
CHECKS=${CHECKS:-doctor selftest memory confined}
[ "$python" != none ] || CHECKS=${CHECKS/memory confined/}
KERNELS=${KERNELS:-5.10 5.15 6.1 6.2 6.5 6.8 6.11 6.12 6.14 6.16 6.17 6.18 6.19 7.0 7.1 7.2}
versions=("$@")
[ ${#versions[@]} -gt 0 ] || read -ra versions <<<"$KERNELS"

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

files, skip = set(), {"test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "third_party", "site-packages", "dist-packages"}

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

# archive LIST: a cpio archive of files, directories first.
archive() {
    awk '{ n = split($0, part, "/"); path = ""
        for (i = 2; i < n; i++) { path = path (i > 2 ? "/" : "") part[i]; if (!seen[path]++) print path }
        print substr($0, 2) }' | (cd / && cpio -o -H newc -R 0:0 --quiet)
}

run_doctor() {
    cat <<'INIT'
/tracer doctor --quick --format json 2>/tmp/err >/tmp/out; status=$?
cat /tmp/out; echo "== doctor $status"
INIT
}

run_selftest() {
    cat <<INIT
/tracer selftest --format json --python $python 2>/tmp/err >/tmp/out; status=\$?
cat /tmp/out; echo "== selftest \$status \$(grep '^tracer:' /tmp/err)"
INIT
}

# run_memory: a cell that takes more than its cgroup has, and the same one with --limit.
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
echo "== limited \$(grep -o MemoryError /tmp/out | tail -n 1) \$(/tracer report --format json /tmp/limited.arrows | grep -c '"kind":"cell".*"status":"error"') \$(grep -o 'Out\[[0-9]*\]: [0-9]*' /tmp/out | tail -n 1)"
INIT
}

# run_confined: the command is probed when it has become a Python, which is after the tracer has given up what it can.
run_confined() {
    cat <<INIT
mkfifo /tmp/in
/tracer run --quiet --format json -o /tmp/confined.json --ready-file /tmp/ready -- $python -m IPython --simple-prompt --no-banner --no-confirm-exit </tmp/in >/tmp/out 2>/tmp/err &
tracer=\$!
exec 3>/tmp/in
while ! [ -e /tmp/ready ]; do sleep 1; done
echo 'x = bytearray(20 << 20)' >&3
exec 3>&-
status=\$(grep -h "^Cap[EB]\|^NoNewPrivs\|^Seccomp:" /proc/\$tracer/task/*/status | sort -u | tr -d '\t' | tr '\n' ' ')
wait \$tracer
echo "== confined \$status \$(grep -o '"complete": *[a-z]*' /tmp/confined.json) \$(grep -o '"kind": *"cell"' /tmp/confined.json | head -n 1)"
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
    if [ "$python" != none ]; then
        python_files >"$work/files"
        archive <"$work/files" >>"$work/initrd"
    fi
}

# boot KERNEL LOG: one run. cx16=off: QEMU 7.2 breaks the flags of cmpxchg16b now and then, and the kernel dies in
# its allocator. rootfstype=ramfs: files on it count as files, those of tmpfs would count as shared memory.
boot() {
    timeout 900 nice -n 10 qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off,cx16=off -smp "${CPUS:-2}" -m 2048 \
        -kernel "$1" -initrd "$work/initrd" -append 'console=ttyS0 rootfstype=ramfs mitigations=off loglevel=1 panic=-1' \
        -display none -serial stdio -monitor none -no-reboot -nodefaults </dev/null 2>&1 | sed -u 's/\r//g' >"$2" || true
}

# judge VERSION LOG: one line of the table; fails where the kernel should have done and did not.
judge() {
    python3 - "$@" <<'PY'
import json, re, sys
version, log = sys.argv[1], open(sys.argv[2], errors="replace").read()
marks = dict(re.findall(r"^== (\w+) (.*)$", log, re.M))
documents = {}
for text in re.findall(r"^\{$.*?^\}$", log, re.M | re.S):
    try:
        d = json.loads(text)
        documents[d["schema"].split("/")[1]] = d
    except ValueError:
        pass
release, doctor, (status, _, said) = marks.get("release", "?"), marks.get("doctor", "?"), marks.get("selftest", "?").partition(" ")
test = documents.get("selftest", {})

def count(results):
    figures = [f for r in results for f in r["figures"]]
    if not figures:
        return "-"
    wrong = [f for f in figures if abs(f["difference"]) > f["bound"]]
    off = [f for f in figures if f["difference"] and f not in wrong]
    text = "%d of %d equal" % (len(figures) - len(off) - len(wrong), len(figures))
    if off:
        text += ", %d within the bound (worst %+d KiB)" % (len(off), max((f["difference"] for f in off), key=abs) // 1024)
    return text + (", %d WRONG" % len(wrong) if wrong else "")

old = [int(n) for n in version.split(".")[:2]] < [5, 19]
checks = sys.argv[3].split()
good = ("doctor" not in checks or doctor == ("3" if old else "0")) and ("selftest" not in checks or status == ("3" if old else "0"))
killed, limited = marks.get("killed", ""), marks.get("limited", "")
memory = "-"
if "memory" in checks and not old:
    named = "out of memory" in killed and "600.00 MiB of cgroup /small" in killed
    spared = re.fullmatch(r"MemoryError 1 Out\[3\]: \d+", limited) is not None
    memory = "named; spared by --limit" if named and spared else "FAILED"
    good = good and named and spared
confined = "-"
if "confined" in checks and not old:
    told = marks.get("confined", "")
    held = re.search(r"CapBnd:0+ CapEff:([0-9a-f]+) NoNewPrivs:1 Seccomp:2 +\"complete\": *true \"kind\": *\"cell\"", told)
    known = {"0000000000000000": "no capability", "000000c000000000": "BPF and PERFMON", "000000c000200000": "BPF, PERFMON and SYS_ADMIN"}
    confined = known.get(held[1], "FAILED") if held else "FAILED"
    good = good and confined != "FAILED"
verdict = "ok" if good else "FAILED"
if old and good:
    verdict = "refused, status 3"
print("| %s | %s | %s | %s | %s | %s | %s |" % (release, verdict, count(test.get("workloads", [])), count(test.get("cells", [])), memory, confined, marks.get("seconds", "-")))
if not good:
    print("kernels.sh: %s: doctor %s, selftest %s %s; killed: %s; limited: %s; confined: %s" % (version, doctor, status, said or test.get("failure", ""), killed, limited, marks.get("confined", "")), file=sys.stderr)
    for check in documents.get("doctor", {}).get("checks", []):
        if check["state"] == "missing":
            print("kernels.sh: %s: %s: %s" % (version, check["name"], check["detail"]), file=sys.stderr)
sys.exit(not good)
PY
}

initrd
failed=0
echo '| kernel | result | programs of known truth | cells | out of memory | once attached | seconds |'
echo '|---|---|---|---|---|---|---|'
for version in "${versions[@]}"; do
    image=$(kernel "$version") || { failed=1; continue; }
    boot "$image" "$dir/$version/log"
    judge "$version" "$dir/$version/log" "$CHECKS" || failed=1
done
exit $failed

#!/usr/bin/env bash
# Counts the instructions that the tracer adds to a page fault, on machines with few and with many CPUs, and fails where
# the figure grows with the number of CPUs. QEMU counts instructions (-icount: each takes one nanosecond of the guest's
# clock), so the figures are the same on a busy machine. No KVM and no root is needed.
#
#   scripts/cost.sh [CPUS ...]      numbers of possible CPUs, of which one runs; default: 1 2 8 64 255, on arm64 1 2 8
#                                   64 123. QEMU has at most 255 without an interrupt remapper; on arm64 more than 123
#                                   did not boot
#
# KERNEL        the version that is booted (6.18)
# ARCH          amd64, or arm64 (amd64)
# KERNELS_DIR   where kernels and results are kept (/var/tmp/ipytracer-kernels)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/qemu.sh

kernel "${KERNEL:-6.18}" >/dev/null
machines=("$@")
[ ${#machines[@]} -gt 0 ] || machines=(1 2 8 64 "$([ "$arch" = arm64 ] && echo 123 || echo 255)")

guest <<'INIT'
echo "possible $(cat /sys/devices/system/cpu/possible)"
/tracer workload costs 2>&1
poweroff -f
INIT

for cpus in "${machines[@]}"; do
    # A CPU that may be added later is a possible one. An arm64 machine has none of those, but need not start all.
    smp=1,sockets=$cpus,cores=1,threads=1,maxcpus=$cpus
    [ "$arch" = amd64 ] || smp=$cpus append=maxcpus=1
    PATIENCE=900 emulate "$smp" "${KERNEL:-6.18}" -accel tcg,thread=single -icount shift=0,sleep=off \
        >"$dir/cost-$cpus.log" || true
done
python3 - "$dir" "${machines[@]}" <<'PY'
import json, re, sys
folder, machines = sys.argv[1], [int(n) for n in sys.argv[2:]]
added = {}
print("| CPUs | page fault: all of it, the program of a traced process, of any other "
      "| page given back | mmap and munmap |")
print("|---|---|---|---|")
for cpus in machines:
    log = open("%s/cost-%d.log" % (folder, cpus), errors="replace").read()
    costs = {name: [int(n) for n in rest.split()]
             for name, rest in re.findall(r"^cost loop-(\w+) ([\d ]+)$", log, re.M)}
    possible = re.search(r"^possible (0-)?(\d+)$", log, re.M)
    if not possible or int(possible[2]) + 1 != cpus:
        sys.exit("cost.sh: %d CPUs were to be possible, not %s" % (cpus, possible and possible[0]))
    if "faults" not in costs:
        sys.exit("cost.sh: %d CPUs: %s" % (cpus, log[-2000:]))
    print("| %d | %s |" % (cpus, " | ".join("%d, %d, %d" % tuple(costs[name]) for name in ("faults", "falls", "maps"))))
    added[cpus] = costs["faults"][1]
most, few = max(added), min(added)
# A loop gives its pages back at the end, and for each 512 of them the kernel visits every CPU.
if added[most] > 1.25 * added[few]:
    sys.exit("cost.sh: the program of a page fault takes %.2f times as many instructions with %d CPUs as with %d"
             % (added[most] / added[few], most, few))
PY

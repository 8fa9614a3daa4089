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
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${KERNELS_DIR:-/var/tmp/ipytracer-kernels}
python=${PYTHON:-/usr/bin/python3}
# Debian's mirrors are those apt uses here; Ubuntu's kernels are only taken where UBUNTU_MIRROR is set.
apt_mirror() { apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed 's,/*$,,' | grep -E "$1\$" | sort -u | head -n 1 || true; }
debian=${DEBIAN_MIRROR:-$(apt_mirror '/debian')}
security=${DEBIAN_SECURITY_MIRROR:-$(apt_mirror '/debian-security')}
ubuntu=${UBUNTU_MIRROR:-}
KERNELS=${KERNELS:-5.10 5.15 6.1 6.2 6.5 6.8 6.11 6.12 6.14 6.16 6.17 6.18 6.19 7.0 7.1 7.2}
versions=("$@")
[ ${#versions[@]} -gt 0 ] || read -ra versions <<<"$KERNELS"
mkdir -p "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# index: one line for each package with a kernel: name, URL, SHA-256.
index() {
    local list=$dir/index base suite
    [ -z "$(find "$list" -mmin -1440 2>/dev/null)" ] || return 0
    while read -r base suite; do
        [ -n "$suite" ] || continue # no mirror
        curl -sfL -m 300 "$base/dists/$suite/main/binary-amd64/Packages.xz" | xz -dc | awk -v base="$base" '
            /^Package:/ { name = $2 } /^Filename:/ { file = $2 } /^SHA256:/ { sum = $2 }
            /^$/ && name ~ /^linux-(image|binary)-[0-9].*-cloud-amd64$|^linux-image-unsigned-[0-9].*-generic$/ {
                print name, base "/" file, sum
            }'
    done >"$list.new" <<SUITES
$security bullseye-security
$debian bookworm
$debian trixie
$debian trixie-backports
$debian sid
$debian experimental
$ubuntu jammy-updates
$ubuntu noble-updates
SUITES
    mv "$list.new" "$list"
}

# kernel VERSION: fetches the newest kernel of that version, once, and prints where it is.
kernel() {
    local version=$1 into=$dir/$1 name url sum
    if ! compgen -G "$into/vmlinuz*" >/dev/null; then
        index
        # Debian's before Ubuntu's; linux-binary, where there is one, has what linux-image used to have.
        read -r name url sum < <(awk -v v="$version" '{
            n = $1; sub(/^linux-(image-unsigned|image|binary)-/, "", n)
            if (index(n, v ".") == 1 || index(n, v "-") == 1 || index(n, v "+") == 1)
                print ($1 ~ /generic/ ? 0 : $1 ~ /binary/ ? 2 : 1), $0
        }' "$dir/index" | sort -k1,1n -k2,2V | tail -n 1 | cut -d' ' -f2-) || true
        [ -n "$name" ] || { echo "kernels.sh: no package has a kernel $version" >&2; return 1; }
        curl -sfL -m 600 -o "$work/kernel.deb" "$url"
        echo "$sum  $work/kernel.deb" | sha256sum -c --quiet
        mkdir -p "$into"
        dpkg-deb --fsys-tarfile "$work/kernel.deb" | tar -x -C "$into" --wildcards --transform 's|.*/||' '*/vmlinuz*'
        rm "$work/kernel.deb"
    fi
    compgen -G "$into/vmlinuz*" | head -n 1
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

# initrd: the program that runs in every kernel.
initrd() {
    local root=$work/root
    CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$work/tracer" ./cmd/tracer
    mkdir -p "$root"/{bin,dev,etc,proc,root,sys,tmp,usr/lib,usr/lib64}
    chmod 1777 "$root/tmp"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    cp "$work/tracer" "$root/tracer"
    cp "$(command -v busybox)" "$root/bin/busybox"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    # Also shown on the console: what fails must be seen even where nothing can be read back.
    cat >"$root/init" <<INIT
#!/bin/busybox sh
export PATH=/bin:/usr/bin HOME=/root TERM=dumb PYTHONDONTWRITEBYTECODE=1
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
echo "== release \$(uname -r)"
/tracer doctor --quick --format json 2>/tmp/err >/tmp/out; status=\$?
cat /tmp/out; echo "== doctor \$status"
/tracer selftest --format json --python $python 2>/tmp/err >/tmp/out; status=\$?
cat /tmp/out; echo "== selftest \$status \$(grep '^tracer:' /tmp/err)"
echo "== seconds \$(cut -d. -f1 /proc/uptime)"
poweroff -f
INIT
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd"
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
good = (doctor, status) == (("3", "3") if old else ("0", "0"))
verdict = "ok" if good else "FAILED"
if old and good:
    verdict = "refused, status 3"
print("| %s | %s | %s | %s | %s |" % (release, verdict, count(test.get("workloads", [])), count(test.get("cells", [])), marks.get("seconds", "-")))
if not good:
    print("kernels.sh: %s: doctor %s, selftest %s %s" % (version, doctor, status, said or test.get("failure", "")), file=sys.stderr)
    for check in documents.get("doctor", {}).get("checks", []):
        if check["state"] == "missing":
            print("kernels.sh: %s: %s: %s" % (version, check["name"], check["detail"]), file=sys.stderr)
sys.exit(not good)
PY
}

for tool in qemu-system-x86_64 busybox cpio curl xz dpkg-deb python3; do
    command -v "$tool" >/dev/null || { echo "kernels.sh: $tool is missing; scripts/install.sh kernels installs what it takes" >&2; exit 3; }
done
initrd
failed=0
echo '| kernel | result | programs of known truth | cells | seconds |'
echo '|---|---|---|---|---|'
for version in "${versions[@]}"; do
    image=$(kernel "$version") || { failed=1; continue; }
    boot "$image" "$dir/$version/log"
    judge "$version" "$dir/$version/log" || failed=1
done
exit $failed

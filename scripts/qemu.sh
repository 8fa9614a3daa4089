# shellcheck shell=bash
# The common functions of the scripts that boot kernels in QEMU. To be sourced, from the top of the repository.
#
# KERNELS_DIR   where kernels and results are kept (/var/tmp/ipytracer-kernels)

dir=${KERNELS_DIR:-/var/tmp/ipytracer-kernels}
# Debian's mirrors are those apt uses here; Ubuntu's kernels are only taken where UBUNTU_MIRROR is set.
apt_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 2>/dev/null |
        sed 's,/*$,,' | grep -E "$1\$" | sort -u | head -n 1 || true
}
debian=${DEBIAN_MIRROR:-$(apt_mirror '/debian')}
security=${DEBIAN_SECURITY_MIRROR:-$(apt_mirror '/debian-security')}
ubuntu=${UBUNTU_MIRROR:-}
mkdir -p "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in qemu-system-x86_64 busybox cpio curl xz dpkg-deb python3; do
    command -v "$tool" >/dev/null || {
        echo "$(basename "$0"): $tool is missing; scripts/install.sh kernels installs it" >&2
        exit 3
    }
done

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
        [ -n "$name" ] || { echo "$(basename "$0"): no package has a kernel $version" >&2; return 1; }
        curl -sfL -m 600 -o "$work/kernel.deb" "$url"
        echo "$sum  $work/kernel.deb" | sha256sum -c --quiet
        mkdir -p "$into"
        dpkg-deb --fsys-tarfile "$work/kernel.deb" | tar -x -C "$into" --wildcards --transform 's|.*/||' '*/vmlinuz*'
        rm "$work/kernel.deb"
    fi
    compgen -G "$into/vmlinuz*" | head -n 1
}

# guest: makes $work/initrd of busybox, the tracer, and the guest's commands, from standard input. Its only output is
# QEMU's serial console.
guest() {
    local root=$work/root
    CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$work/tracer" ./cmd/tracer
    mkdir -p "$root"/{bin,dev,etc,proc,root,sys,tmp,usr/lib,usr/lib64}
    chmod 1777 "$root/tmp"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    cp "$work/tracer" "$root/tracer"
    cp "$(command -v busybox)" "$root/bin/busybox"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    {
        cat <<'INIT'
#!/bin/busybox sh
export PATH=/bin:/usr/bin HOME=/root TERM=dumb PYTHONDONTWRITEBYTECODE=1
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
INIT
        cat
    } >"$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd"
}

# shellcheck shell=bash
# The common functions of the scripts that boot kernels in QEMU. To be sourced, from the top of the repository.
#
# KERNELS_DIR   where kernels and results are kept (/var/tmp/ipytracer-kernels)
# ARCH          of the machine that is emulated, as Debian names it: amd64 or arm64 (amd64)
# CPU           the processor, as QEMU names it (one with all that QEMU can); cortex-a72 is an old arm64
# MEMORY        of the machine that is emulated, in MiB (2048)

dir=${KERNELS_DIR:-/var/tmp/ipytracer-kernels}
arch=${ARCH:-amd64}
# cx16=off: QEMU 7.2 breaks the flags of cmpxchg16b now and then, and the kernel dies in its allocator. pauth-impdef:
# pointers are signed by a function that is cheap to emulate.
case $arch in
amd64)
    emulator=(qemu-system-x86_64 -cpu "${CPU:-max,la57=off,cx16=off}")
    console=ttyS0 compiler=gcc
    # The kernel would count the ticks of the emulated timer at its start, and panic where a busy machine delays them.
    timer=no_timer_check
    ;;
arm64)
    dir+=/arm64
    emulator=(qemu-system-aarch64 -M "virt,gic-version=3" -cpu "${CPU:-max,pauth-impdef=on}")
    console=ttyAMA0 compiler=aarch64-linux-gnu-gcc timer=
    ;;
*)
    echo "$(basename "$0"): ARCH is amd64 or arm64, not $arch" >&2
    exit 2
    ;;
esac
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
for tool in "${emulator[0]}" busybox cpio curl xz dpkg-deb python3; do
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
        curl -sfL -m 300 "$base/dists/$suite/main/binary-$arch/Packages.xz" | xz -dc | awk -v base="$base" '
            /^Package:/ { name = $2 } /^Filename:/ { file = $2 } /^SHA256:/ { sum = $2 }
            /^$/ && name ~ "^linux-(image|binary)-[0-9].*-(cloud-a(md|rm)64|arm64-16k)$" \
                "|^linux-image-unsigned-[0-9][^a-z]*-generic(-64k)?$" {
                print name, base "/" file, sum
            }' || [ "$arch" != amd64 ] # Ubuntu's older suites have arm64 elsewhere
    done >"$list.new" <<SUITES
$security bullseye-security
$debian bookworm
$debian trixie
$debian trixie-backports
$debian sid
$debian experimental
$ubuntu jammy-updates
$ubuntu noble-updates
$ubuntu resolute-updates
SUITES
    mv "$list.new" "$list"
}

# unpack_zboot FILE: replaces a kernel that unpacks itself where there is UEFI (drivers/firmware/efi/libstub) by what is
# in it. Another file stays as it is.
unpack_zboot() {
    local offset size kind
    [ "$(head -c 8 "$1" | tail -c 4 | tr -d '\0')" = zimg ] || return 0
    read -r offset size < <(od -A n -t u4 -j 8 -N 8 "$1")
    kind=$(tail -c +25 "$1" | head -c 4 | tr -d '\0')
    tail -c "+$((offset + 1))" "$1" | head -c "$size" | "${kind/22/}" -dcq >"$1.unpacked" || true # the size follows
    mv "$1.unpacked" "$1"
}

# kernel VERSION: fetches the newest kernel of that version, once, and prints where it is. VERSION-16k and
# VERSION-64k have larger pages.
kernel() {
    local version=${1%-*k} into=$dir/$1 name url sum pages=
    [ "$version" = "$1" ] || pages=-${1##*-}
    if ! compgen -G "$into/vmlinuz*" >/dev/null; then
        index
        # Debian's before Ubuntu's; linux-binary, where there is one, has what linux-image used to have.
        read -r name url sum < <(awk -v v="$version" -v pages="$pages" '{
            n = $1; if (pages ? n !~ pages "$" : n ~ /-(16|64)k$/) next
            sub(/^linux-(image-unsigned|image|binary)-/, "", n)
            if (index(n, v ".") == 1 || index(n, v "-") == 1 || index(n, v "+") == 1)
                print ($1 ~ /generic/ ? 0 : $1 ~ /binary/ ? 2 : 1), $0
        }' "$dir/index" | sort -k1,1n -k2,2V | tail -n 1 | cut -d' ' -f2-) || true
        [ -n "$name" ] || { echo "$(basename "$0"): no package has a kernel $1" >&2; return 1; }
        curl -sfL -m 600 -o "$work/kernel.deb" "$url"
        echo "$sum  $work/kernel.deb" | sha256sum -c --quiet
        mkdir -p "$into"
        dpkg-deb --fsys-tarfile "$work/kernel.deb" | tar -x -C "$into" --wildcards --transform 's|.*/||' '*/vmlinuz*'
        rm "$work/kernel.deb"
        unpack_zboot "$into"/vmlinuz*
    fi
    compgen -G "$into/vmlinuz*" | head -n 1
}

# foreign [-into NAME] SUITE PACKAGE ...: unpacks packages of another architecture with all that they depend on, once,
# and prints the folder, which has the suite's name or NAME. Other packages are added to what is there. apt finds them
# with a state of its own, in which nothing is installed.
foreign() {
    local suite name tree state deb options mark
    [ "$1" != -into ] || { name=$2; shift 2; }
    suite=$1 name=${name:-$1}
    tree=$dir/$name state=$dir/apt-$name
    shift
    mark=$tree/done-$(md5sum <<<"$*" | head -c 8)
    if ! [ -e "$mark" ]; then
        mkdir -p "$state"/etc/{apt.conf.d,preferences.d,trusted.gpg.d} "$state"/{lists/partial,cache/archives/partial} \
            "$tree"/usr/{bin,lib,sbin}
        : >"$state/status"
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $debian $suite main" \
            >"$state/etc/sources.list"
        options=(-qq -o Dir::Etc="$state/etc" -o Dir::State="$state" -o Dir::Cache="$state/cache"
            -o Dir::State::status="$state/status" -o APT::Architecture="$arch" -o APT::Architectures="$arch"
            -o Acquire::Languages=none)
        ln -sfnT usr/bin "$tree/bin"
        ln -sfnT usr/lib "$tree/lib"
        apt-get "${options[@]}" update >&2
        apt-get "${options[@]}" install -y --no-install-recommends --download-only "$@" >&2
        for deb in "$state"/cache/archives/*.deb; do
            dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$tree" --keep-directory-symlink
        done
        rm -r "$state"
        touch "$mark"
    fi
    echo "$tree"
}

# compiled TREE: compiles the Python files of a folder that `foreign` made, those that are not yet, and links its BLAS
# and LAPACK, as their packages' scripts would.
compiled() {
    local tree=$1 library
    [ ! -e "$tree/compiled" ] || [ -n "$(find "$tree" -maxdepth 1 -name 'done-*' -newer "$tree/compiled")" ] || return 0
    for library in blas lapack; do
        ln -sfn $library/lib$library.so.3 "$(echo "$tree"/usr/lib/*-linux-gnu)/lib$library.so.3"
    done
    # A few files are for other versions.
    "qemu-${emulator[0]##*-}" -L "$tree" "$tree/usr/bin/python3" -m compileall -q \
        -x '/(tests?|idlelib|lib2to3|testing/_internal)/' -s "$tree" -p / "$tree"/usr/lib/python3* >&2 || true
    touch "$tree/compiled"
}

# archive [TREE]: a cpio archive of the files below TREE (/) on standard input, directories first.
archive() {
    awk '{ n = split($0, part, "/"); path = ""
        for (i = 2; i < n; i++) { path = path (i > 2 ? "/" : "") part[i]; if (!seen[path]++) print path }
        print substr($0, 2) }' | (cd "${1:-/}" && cpio -o -H newc -R 0:0 --quiet)
}

# busybox_of: prints where the guest's busybox is.
busybox_of() {
    if [ "$arch" = "$(dpkg --print-architecture)" ]; then command -v busybox; else
        echo "$(foreign trixie busybox-static)/usr/bin/busybox"
    fi
}

# The settings of a kernel that is booted as VERSION:SETTING[,SETTING …], each a habit of Linux's the other way:
#
#   zero       no zero page: a read makes a page resident (scripts/zeroless.c)
#   huge       every mapping has huge pages, and there is no huge zero page
#   small      no mapping has huge pages
#   sizes      every mapping has pages of 64 KiB and no huge ones (since 6.8)
#   collapse   every mapping has huge pages, and khugepaged looks for more all the time
#   reclaim    pages that were given back lazily (MADV_FREE) go at once; the rest of the memory cannot be reclaimed
#
habits="6.12:zero 6.12:huge 6.12:small 6.12:sizes 6.12:collapse 6.12:reclaim"

# settle: the guest's commands that make them, and print what the kernel answers (testdata/workloads/machine.c).
settle() {
    cat <<'INIT'
huge=/sys/kernel/mm/transparent_hugepage
for setting in $(sed -n 's/.*settings=\([^ ]*\).*/\1/p' /proc/cmdline | tr , ' '); do
    case $setting in
    zero) insmod /zeroless.ko ;;
    huge) echo always >$huge/enabled; echo 0 >$huge/use_zero_page ;;
    small) echo never >$huge/enabled ;;
    sizes)
        echo never >$huge/enabled
        echo always >$huge/hugepages-64kB/enabled
        ;;
    collapse)
        echo always >$huge/enabled
        echo 0 >$huge/khugepaged/alloc_sleep_millisecs
        echo 10 >$huge/khugepaged/scan_sleep_millisecs
        echo 100000 >$huge/khugepaged/pages_to_scan
        ;;
    reclaim)
        mkdir -p /sys/fs/cgroup
        mount -t cgroup2 cgroup /sys/fs/cgroup
        (while :; do echo 1G >/sys/fs/cgroup/memory.reclaim; usleep 20000; done) 2>/dev/null &
        ;;
    esac
done
[ ! -x /machine ] || echo "== machine $(/machine)"
INIT
}

# ready VERSION[:SETTING,…]: fetches the kernel and prints where it is; $work/boot is $work/initrd with the module that
# the settings need.
ready() {
    local version=${1%%:*} image tree release module=$dir/${1%%:*}/zeroless.ko
    image=$(kernel "$version") || return 1
    cp "$work/initrd" "$work/boot"
    case ,${1#"$version"}, in *[:,]zero,*)
        release=${image##*/vmlinuz-}
        if [ "$module" -ot scripts/zeroless.c ]; then
            [[ $release = *+deb13-* && $release != *bpo* ]] || {
                echo "$(basename "$0"): no headers of $release: zero is for kernels of Debian 13" >&2
                return 1
            }
            tree=$(foreign -into "headers-$version" trixie "linux-headers-$release" make dash bash coreutils sed grep \
                mawk findutils)
            mkdir -p "$tree"/{dev,zeroless}
            ln -sfnT usr/lib64 "$tree/lib64"
            ln -sf mawk "$tree/usr/bin/awk"
            cp scripts/zeroless.c "$tree/zeroless"
            echo 'obj-m := zeroless.o' >"$tree/zeroless/Makefile"
            unshare --map-root-user --mount sh -euc 'mount --rbind /dev "$1/dev"; exec chroot "$1" make -s \
                -C "/usr/src/linux-headers-$2" M=/zeroless modules' sh "$tree" "$release" >&2
            cp "$tree/zeroless/zeroless.ko" "$module"
        fi
        (cd "${module%/*}" && echo zeroless.ko | cpio -o -H newc -R 0:0 --quiet) >>"$work/boot"
        ;;
    esac
    echo "$image"
}

# guest: makes $work/initrd of busybox, the tracer, and the guest's commands, from standard input. Its only output is
# QEMU's serial console.
guest() {
    local root=$work/root
    CGO_ENABLED=0 GOARCH=$arch "${GO:-go}" build -trimpath -o "$work/tracer" ./cmd/tracer
    mkdir -p "$root"/{bin,dev,etc,proc,root,sys,tmp,usr/lib,usr/lib64}
    chmod 1777 "$root/tmp"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    cp "$work/tracer" "$root/tracer"
    $compiler -O2 -static -DPROGRAM -o "$root/machine" testdata/workloads/machine.c
    cp "$(busybox_of)" "$root/bin/busybox"
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
        settle
        cat
    } >"$root/init"
    chmod +x "$root/init"
    (cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd"
}

# emulate CPUS VERSION[:SETTING,…] ARGUMENT ...: boots a kernel with $work/initrd, and prints what it says. It is ended
# after $PATIENCE seconds (1800). $append has more of its command line.
# rootfstype=ramfs: files on it count as files, those of tmpfs would count as shared memory.
emulate() {
    local cpus=$1 settings= image
    [[ $2 != *:* ]] || settings=settings=${2#*:}
    image=$(ready "$2") || return 1
    shift 2
    timeout "${PATIENCE:-1800}" nice -n 10 "${emulator[@]}" -smp "$cpus" -m "${MEMORY:-2048}" \
        -kernel "$image" -initrd "$work/boot" \
        -append "console=$console $timer rootfstype=ramfs mitigations=off loglevel=1 panic=-1 $settings ${append:-}" \
        -display none -serial stdio -monitor none -no-reboot -nodefaults "$@" </dev/null 2>&1 | sed -u 's/\r//g'
}

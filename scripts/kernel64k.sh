#!/usr/bin/env bash
# Builds an arm64 kernel with pages of 64 KiB for scripts/kernels.sh, from Debian's source and the configuration of its
# cloud kernel: Debian has none. Without modules, as the guest has only an initrd. Half an hour of two processors and
# 4 GB, which are removed afterwards.
#
#   scripts/kernel64k.sh [VERSION]      such as 6.12, a version that Debian has in trixie
#
# KERNELS_DIR   where kernels and results are kept (/var/tmp/ipytracer-kernels)
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-6.12}
ARCH=arm64
. scripts/qemu.sh

into=$dir/$version-64k
! [ -e "$into/vmlinuz" ] || exit 0
index
read -r _ url sum < <(grep "^linux-image-$version\\..*-cloud-arm64 " "$dir/index" | sort -V | tail -n 1)
curl -sfL -m 600 -o "$work/kernel.deb" "$url"
echo "$sum  $work/kernel.deb" | sha256sum -c --quiet
build=$(mktemp -d "$dir/build.XXXXXX")
trap 'rm -rf "$build" "$work"' EXIT
tar -x -f <(dpkg-deb --fsys-tarfile "$work/kernel.deb") -C "$build" --wildcards --transform 's|.*/||' '*/config-*'
read -r url sum < <(curl -sfL -m 300 "$debian/dists/trixie/main/binary-arm64/Packages.xz" | xz -dc |
    awk -v base="$debian" -v wanted="linux-source-$version" '/^Package:/ { name = $2 } /^Filename:/ { file = $2 }
        /^SHA256:/ { sum = $2 } /^$/ && name == wanted { print base "/" file, sum }' | sort -V | tail -n 1)
curl -sfL -m 900 -o "$build/source.deb" "$url"
echo "$sum  $build/source.deb" | sha256sum -c --quiet
dpkg-deb --fsys-tarfile "$build/source.deb" | tar -xO --wildcards '*/linux-source-*.tar.xz' | tar -xJ -C "$build"
cd "$build/linux-source-$version"
sed 's/=m$/=n/' ../config-* >.config
scripts/config -d ARM64_4K_PAGES -e ARM64_64K_PAGES -d MODULES -d DEBUG_INFO_NONE -e DEBUG_INFO_DWARF5 \
    -e DEBUG_INFO_BTF --set-str SYSTEM_TRUSTED_KEYS "" --set-str LOCALVERSION -64k -d DRM -d SOUND -d USB_SUPPORT \
    -d IPV6 -d NETFILTER -d WIRELESS -d BTRFS_FS -d ARM64_VA_BITS_52 -e ARM64_VA_BITS_48 -d VIRTUALIZATION
cross=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-)
make -s "${cross[@]}" olddefconfig
grep -q '^CONFIG_ARM64_64K_PAGES=y' .config
make -s -j"$(nproc)" "${cross[@]}" Image
mkdir -p "$into"
cp arch/arm64/boot/Image "$into/vmlinuz"

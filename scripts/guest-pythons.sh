#!/usr/bin/env bash
# Compiles CPython 3.13 for another processor, with the flags of scripts/pythons.sh, once, and prints the folder in
# which it is /opt/NAME. The compiler is a cross compiler; what configure would run is run by Debian's Python 3.13 for
# this machine. It has no pip: Debian's libraries are on its path. Nothing is installed, and no root is needed.
#
#   ARCH=arm64 scripts/guest-pythons.sh NAME
#
# NAME          plain313 (as pyenv makes it: static, -O3, no LTO, no PGO), or
#               musl313 (with another C library, into which no compiled module of Debian's can be loaded)
# KERNELS_DIR   as in scripts/kernels.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/qemu.sh

name=${1:?NAME, such as plain313} suite=trixie version=3.13
root=$dir/built-$name
case $name in
plain313) libraries=(libffi-dev libssl-dev libsqlite3-dev zlib1g-dev liblzma-dev libbz2-dev) ;;
musl313) libraries=(musl-dev) ;;
*)
    echo "guest-pythons.sh: unknown name $name" >&2
    exit 2
    ;;
esac
[ ! -e "$root/.complete" ] || { echo "$root"; exit; }
rm -rf "$root"
mkdir -p "$root" "$work/source" "$work/bin"

# The same Python for this machine, with the C library that it was made for.
native=$(dpkg --print-architecture)
tree=$(ARCH=$native KERNELS_DIR=${KERNELS_DIR:-/var/tmp/ipytracer-kernels} bash -euc \
    '. scripts/qemu.sh && foreign -into "$1-python" "$1" "python$2" libc-bin' bash "$suite" "$version")
library=$(echo "$tree"/usr/lib/*-linux-gnu)
loader=$(compgen -G "$library/ld-linux-*.so.*" | head -n 1)
install /dev/stdin "$work/bin/python" <<SH
#!/bin/sh
PYTHONHOME=$tree/usr exec $loader --library-path $library $tree/usr/bin/python$version "\$@"
SH

# Headers and libraries of the other machine.
headers=$(foreign -into "$suite-$name" "$suite" libc6-dev linux-libc-dev "${libraries[@]}")
case $arch in
arm64) triplet=aarch64-linux-gnu own=-mno-outline-atomics ;; # libgcc's ask glibc what the processor has
amd64) triplet=x86_64-linux-gnu own= ;;
esac
common="exec $triplet-gcc"
if [ "$name" = musl313 ]; then
    triplet=${triplet/gnu/musl}
    sed "s, /usr/, $headers/usr/,g; s,\([:L]\)/usr/,\1$headers/usr/,g" "$headers/usr/lib/$triplet/musl-gcc.specs" \
        >"$work/specs"
    common+=" -specs $work/specs $own"
else
    common+=" --sysroot=$headers"
fi
# gcc names glibc's triplet, even with other specs.
install /dev/stdin "$work/bin/cc" <<SH
#!/bin/sh
[ "\$1" = --print-multiarch ] && echo $triplet || $common "\$@"
SH

# configure cannot try all it asks for on another machine. In the left side of || the shell goes on after errors.
(
    set -e
    cd "$work/source"
    release=$("$work/bin/python" -c 'import platform; print(platform.python_version())')
    curl -sfL -m 600 "$debian/pool/main/p/python$version/python${version}_$release.orig.tar.xz" |
        tar -xJ --strip-components 1
    export PKG_CONFIG_LIBDIR=$headers/usr/lib/$triplet/pkgconfig PKG_CONFIG_SYSROOT_DIR=$headers
    ./configure --prefix="/opt/$name" --host="$triplet" --build="$native-linux-gnu" \
        --with-build-python="$work/bin/python" CC="$work/bin/cc" AR="${compiler/%gcc/gcc-ar}" \
        ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no \
        --with-ensurepip=no --disable-test-modules
    make -j2
    make install DESTDIR="$root"
) >"$root.log" 2>&1 </dev/null &
wait $! || { echo "guest-pythons.sh: $name could not be made, see $root.log" >&2; exit 1; }

library=$(compgen -G "$root/opt/$name/lib/python$version*" | head -n 1)
rm -rf "$library"/config-*/libpython*.a "$root/opt/$name"/lib/libpython*.a "$library"/{idlelib,tkinter,turtledemo}
echo /usr/lib/python3/dist-packages >"$library/site-packages/debian.pth"
# IPython imports sqlite3, and needs nothing of it where its history is off.
compgen -G "$library/lib-dynload/_sqlite3.*" >/dev/null || printf '%s\n' \
    'class Error(Exception): pass' 'DatabaseError = OperationalError = IntegrityError = Error' \
    'class Connection: pass' 'def register_converter(*_): pass' 'register_adapter = register_converter' \
    >"$library/sqlite3/__init__.py"
touch "$root/.complete"
echo "$root"

#!/usr/bin/env bash
# Reports whether the places of large blocks are found in NumPy's extension module from a whole build, with the wheels'
# flags, with link-time optimisation and without.
#
#   scripts/numpy-whole.sh SOURCE [FOLDER]
#
# SOURCE is a checkout of NumPy 2.x with its submodules. Debian 13 with its GCC is unpacked into FOLDER (1 GiB), and of
# NumPy only this module is built there, without the instructions of newer processors, which have no part in it: some
# minutes for each. LTO ("true" or "false") selects one. Needs root, debootstrap and Go.
set -euo pipefail

source=$(realpath "$1")
folder=$(realpath -m "${2:-/var/tmp/ipytracer-numpy-whole}")
here=$(dirname "$(realpath "$0")")
root="$folder/root"
mkdir -p "$folder"
if [ ! -e "$folder/.complete" ]; then
    debootstrap --variant=minbase --include=gcc,g++,python3-dev,cython3,ninja-build,pkgconf trixie "$root" \
        ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$folder/debootstrap.log"
    touch "$folder/.complete"
fi

# inside COMMAND...: runs it in that root.
inside() {
    unshare --mount --propagation private \
        sh -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$@"' sh "$root" "$@"
}

rm -rf "$root/numpy"
cp -a "$source" "$root/numpy"
# The module has no Cython in it, so any version will do.
sed -i -E "s/(cy\.version\(\)\.version_compare\(')>=[0-9.]+/\1>=0/" "$root/numpy/meson.build"
version=$(sed -n "s/^version = \"\(.*\)\"/\1/p" "$root/numpy/pyproject.toml")
files=()
for lto in ${LTO:-false true}; do
    name="$folder/$version gcc-14 whole$([ "$lto" = false ] || echo -lto).so"
    rm -rf "$root/build"
    inside env LDFLAGS="-Wl,--strip-debug -Wl,--as-needed" \
        python3 /numpy/vendored-meson/meson/meson.py setup /build /numpy --buildtype=release -Db_lto="$lto" \
        -Ddisable-svml=true -Ddisable-intel-sort=true -Dcpu-dispatch=none -Dblas=none -Dlapack=none \
        >"$folder/configure.log" ||
        { tail -n 20 "$folder/configure.log" >&2; exit 1; }
    module=$(inside ninja -C /build -t targets all |
        sed -n 's/^\(numpy\/_core\/_multiarray_umath\.[^:]*\.so\): .*/\1/p')
    inside ninja -C /build "$module" >"$folder/build.log" || { tail -n 20 "$folder/build.log" >&2; exit 1; }
    cp "$root/build/$module" "$name"
    files+=("$name")
done
cd "$here/.."
go run ./bench numpysites "${files[@]}"

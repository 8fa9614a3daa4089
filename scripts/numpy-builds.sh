#!/usr/bin/env bash
# Reports in which builds of NumPy the places of large blocks are found: a table of versions, compilers and flags.
#
#   scripts/numpy-builds.sh [FOLDER]
#
# NumPy's sources and headers and the compilers are Debian's, of several releases; they are unpacked into FOLDER (2
# GiB), nothing is installed. The tracer reads only the output of one file of NumPy, alloc.c: it is compiled as whole
# builds do it, and linked into a shared library of its own. With link-time optimisation its functions may be merged
# into others: scripts/numpy-whole.sh makes such builds, whole. Needs root (chroot), binutils, python3-dev and Go. CASES
# and COMPILERS (names of cases and compilers below) select fewer. SUITES names the releases; sources that
# FOLDER/numpy-SUITE/numpy-VERSION has already are not fetched.
#
# NUMPY_GIT is a clone of NumPy's repository, with its tags. A release's sources come from it where Debian's mirror
# lacks them (it may still have the packages), and so do those of TAGS ("v1.22.4 v2.5.2"), of which Debian has no
# package.
set -euo pipefail
shopt -s nullglob inherit_errexit

folder=$(realpath -m "${1:-/var/tmp/ipytracer-numpy-builds}")
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
here=$(dirname "$(realpath "$0")")
mkdir -p "$folder"

# debian SUITE COMMAND...: runs apt, with this release only.
debian() {
    local suite=$1 d="$folder/apt/$1"
    shift
    if [ ! -e "$d/list" ]; then
        mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
        printf '%s %s %s main\n' deb "$mirror" "$suite" deb-src "$mirror" "$suite" >"$d/list"
        debian "$suite" apt-get -qq update
    fi
    "$@" -o Dir::Etc::sourcelist="$d/list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$d/lists" -o Dir::Cache="$d/cache" \
        -o Dir::State::status=/dev/null -o APT::Sandbox::User=root
}

# unpacked SUITE FOLDER PACKAGE...: unpacks these packages, and no others.
unpacked() {
    local suite=$1 to=$2 deb link
    shift 2
    [ -e "$to/.complete" ] && return
    mkdir -p "$to/debs"
    (cd "$to/debs" && debian "$suite" apt-get -qq download "$@")
    for deb in "$to"/debs/*.deb; do dpkg-deb -x "$deb" "$to"; done
    rm -r "$to/debs"
    for link in lib lib64; do [ -e "$to/$link" ] || ln -s "usr/$link" "$to/$link"; done
    touch "$to/.complete"
}

# A compiler's name, and the release that has it.
declare -A release=(
    [gcc-10]=bullseye [gcc-11]=bookworm [gcc-12]=bookworm [gcc-13]=trixie [gcc-14]=trixie [gcc-15]=sid [gcc-16]=sid
    [clang-14]=bookworm [clang-19]=trixie [clang-22]=sid
)

declare -A more=([clang-14]="libxml2 libicu72" [clang-19]=libxml2 [clang-22]=libxml2-16) # other names in each release

# compile NAME SOURCE ASSEMBLY FLAG...: runs the compiler proper, in a root of its own, on a preprocessed file.
compile() {
    local name=$1 source=$2 out=$3 n=${1#*-} root="$folder/$1"
    shift 3
    local libraries=(libc6 libgcc-s1 libstdc++6 zlib1g libzstd1)
    case $name in
    gcc-*)
        local cpp=cpp-$n
        [ "$n" -lt 13 ] || cpp=cpp-$n-x86-64-linux-gnu
        unpacked "${release[$name]}" "$root" "$cpp" "${libraries[@]}" libgmp10 libmpfr6 libmpc3 libisl23
        cp "$source" "$root/source.i"
        local cc1=("$root"/usr/lib*/gcc/x86_64-linux-gnu/"$n"/cc1)
        chroot "$root" "${cc1[0]#"$root"}" -fpreprocessed -quiet -std=c11 "$@" /source.i -o /out.s
        ;;
    clang-*)
        unpacked "${release[$name]}" "$root" "clang-$n" "libclang-cpp$n" "libllvm$n" "${libraries[@]}" \
            libedit2 libtinfo6 libbsd0 libmd0 liblzma5 libffi8 libz3-4 ${more[$name]}
        cp "$source" "$root/source.i"
        chroot "$root" "/usr/bin/clang-$n" -std=c11 -w -fno-addrsig -S "$@" /source.i -o /out.s
        ;;
    esac
    mv "$root/out.s" "$out"
}

# packaged SUITE: gets a release's NumPy as Debian built it: it has the headers that a build generates.
packaged() {
    local packages=(python3-numpy)
    [ "$1" = bookworm ] || packages+=(python3-numpy-dev)
    unpacked "$1" "$folder/numpy-$1" "${packages[@]}"
}

# from_git TAG FOLDER: puts NumPy's sources of a tag into a folder.
from_git() {
    [ -n "${NUMPY_GIT:-}" ] || return
    mkdir -p "$2/numpy-${1#v}"
    git -C "$NUMPY_GIT" archive "$1" numpy | tar -x -C "$2/numpy-${1#v}"
}

# sources SUITE|TAG: gets its sources, and puts the headers that a build generates into $folder/numpy-SUITE/include.
sources() {
    local d="$folder/numpy-$1" near=$1 source known
    mkdir -p "$d"
    case $1 in v1.*) near=bookworm ;; v*) near=sid ;; esac
    packaged "$near"
    source=("$d"/numpy-*/numpy)
    if [ ${#source[@]} = 0 ] && [ "$near" = "$1" ]; then
        known=("$d"/usr/lib/python3/dist-packages/numpy-[0-9]*)
        known=${known[0]##*/numpy-}
        (cd "$d" && debian "$1" apt-get -qq source --download-only numpy && tar -xf numpy_*.orig.tar.xz) 2>/dev/null ||
            from_git "v${known%.*-info}" "$d" || return
    elif [ ${#source[@]} = 0 ]; then
        from_git "$1" "$d" || return
    fi
    local headers=("$folder/numpy-$near"/usr/lib/python3/dist-packages/numpy/*core/include)
    if [ "$near" = "$1" ]; then
        ln -sfn "${headers[0]}" "$d/include"
        return
    fi
    mkdir -p "$d/include/numpy"
    source=("$d"/numpy-*/numpy/*core/code_generators)
    local core=${source[0]%/code_generators}
    # This NumPy's own header would have the same sizes of types, and its own number of the interface.
    known=$(grep -hoE "^C_API_VERSION = '?0x[0-9a-fA-F]+" "$core/meson.build" "$core/setup_common.py" 2>/dev/null |
        grep -oE '0x.*' | head -n 1)
    sed -E "s/(NPY_API_VERSION) .*/\\1 $known/" "${headers[0]}/numpy/_numpyconfig.h" >"$d/include/numpy/_numpyconfig.h"
    cp -r "$core/include/numpy/." "$d/include/numpy/"
    touch "$core/code_generators/__init__.py"
    python3 - "$core" "$d/include/numpy" <<'EOT'
import importlib.util, os, sys, types
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/code_generators"]    # only some versions import it as part of a package
template = os.path.join(sys.argv[1], "..", "distutils", "conv_template.py")
if os.path.exists(template):    # 1.22 takes it from a NumPy that is there
    sys.modules.update((name, types.ModuleType(name)) for name in ("numpy", "numpy.distutils"))
    spec = importlib.util.spec_from_file_location("numpy.distutils.conv_template", template)
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])
try:
    from code_generators import generate_numpy_api
except ImportError:
    import generate_numpy_api
generate_numpy_api.generate_api(sys.argv[2])
EOT
}

# preprocess SUITE|TAG gcc|clang: preprocesses NumPy's alloc.c of a release, with its headers.
preprocess() {
    local d="$folder/numpy-$1"
    [ -e "$d/$2.i" ] && return
    sources "$1" || return
    local source=("$d"/numpy-*/numpy/*core/src)
    local core=${source[0]%/src}
    local include=("$d"/include)
    local template=("$d"/numpy-*/numpy/_build_utils/conv_template.py "$d"/numpy-*/numpy/distutils/conv_template.py)
    mkdir -p "$d/generated"
    python3 -c 'import sys, runpy; print(runpy.run_path(sys.argv[1])["process_file"](sys.argv[2]))' \
        "${template[0]}" "$core/src/common/templ_common.h.src" >"$d/generated/templ_common.h"
    # Other generated headers say which functions the C library and which instructions the processor has; alloc.c uses
    # neither.
    echo '#define NPY_SIZEOF_PY_LONG_LONG 8' >"$d/generated/config.h"
    : >"$d/generated/npy_cpu_dispatch_config.h"
    # As for the oldest of the compilers, which does not know newer attributes; clang claims to be GCC 4.2.
    local old=10
    [ "$2" = gcc ] || old=4
    gcc -E -P -std=c11 -U__GNUC__ -D__GNUC__=$old -U__GNUC_MINOR__ -D__GNUC_MINOR__=2 \
        -DNDEBUG -DHAVE_NPY_CONFIG_H -D_GNU_SOURCE -DNPY_INTERNAL_BUILD=1 \
        -I"$d/generated" -I"${include[0]}/numpy" -I"${include[0]}" -I"$core/include" -I"$core/src/multiarray" \
        -I"$core/src/common" -I"$core/src/npymath" -I"$core/src/umath" -I"$core/src" \
        $(python3-config --includes) "$core/src/multiarray/alloc.c" -o "$d/$2.i.new" &&
        mv "$d/$2.i.new" "$d/$2.i"
}

# The arguments of a build for the compiler and the linker, by its name.
declare -A compiling=(
    [wheel]="-O3 -fPIC -fvisibility=hidden -fno-strict-aliasing -msse -msse2 -msse3 -mssse3 -msse4.1 -mpopcnt -msse4.2"
    [wheel-O2]="-O2 -fPIC -fvisibility=hidden -fno-strict-aliasing"
    [debian]="-O2 -fPIC -fvisibility=hidden -fstack-protector-strong -fcf-protection"
    [no-plt]="-O2 -fPIC -fvisibility=hidden -fno-plt -ffunction-sections -fstack-protector-strong"
    [small]="-Os -fPIC -fvisibility=hidden"
)
declare -A linking=(
    [wheel]="--strip-debug --as-needed --allow-shlib-undefined"
    [wheel-O2]="--strip-all --as-needed"
    [debian]="--strip-all -z relro -z now"
    [no-plt]="--strip-all -z relro -z now"
    [small]="--strip-debug"
)

# build SUITE COMPILER CASE: prints the file it made.
build() {
    local suite=$1 compiler=$2 case=$3 version
    version=$(basename "$folder/numpy-$suite"/numpy-*/ | sed 's/^numpy-//; s/+.*//')
    local name="$folder/built/$version $compiler $case"
    mkdir -p "$folder/built"
    if [ ! -e "$name.so" ]; then
        compile "$compiler" "$folder/numpy-$suite/${compiler%-*}.i" "$name.s" ${compiling[$case]}
        as "$name.s" -o "$name.o"
        # The definitions of NumPy's other files.
        nm -u "$name.o" | awk '
            $2 ~ /^(npy_|PyArray_|PyDataMem_|evil_)/ { print ".hidden " $2 "\n.comm " $2 ",4096,32" }
            END { print ".section .note.GNU-stack,\"\",@progbits" }' >"$name.rest.s"
        as "$name.rest.s" -o "$name.rest.o"
        ld -shared ${linking[$case]} "$name.o" "$name.rest.o" -o "$name.so"
        rm "$name.s" "$name.o" "$name.rest.s" "$name.rest.o"
    fi
    echo "$name.so"
}

files=()
for suite in ${SUITES-bookworm trixie sid} ${TAGS:-}; do
    preprocess "$suite" gcc && preprocess "$suite" clang || {
        echo "$suite: its sources are not to be had (NUMPY_GIT)" >&2
        continue
    }
    for compiler in ${COMPILERS:-gcc-10 gcc-11 gcc-12 gcc-13 gcc-14 gcc-15 gcc-16 clang-14 clang-19 clang-22}; do
        for case in ${CASES:-wheel wheel-O2 debian no-plt small}; do
            file=$(build "$suite" "$compiler" "$case")
            files+=("$file")
        done
    done
done
cd "$here/.."
go run ./bench numpysites "${files[@]}"

# shellcheck shell=bash
# Sourced by the scripts that build a library which counts blocks in a process. It needs a C compiler and the C
# library's headers; CC names another compiler than gcc. The same compiler makes the same bytes. Without DT_NEEDED, the
# functions come from the C library that the process has.
cc=${CC:-gcc}
machine=$($cc -dumpmachine)
machine=${machine%%-*}

# build_library FILE SONAME SOURCE ...: builds FILE, for the machine that CC compiles for. Flags may precede sources.
build_library() {
    local file=$1 soname=$2 flags=() new
    shift 2
    # Without libgcc there is none of its functions that ask the processor for atomic instructions.
    [ "$machine" != aarch64 ] || flags=(-mno-outline-atomics)
    # Others may read the folder meanwhile: there the library appears whole, and nothing else does.
    mkdir -p bin
    new=$(mktemp bin/.library.XXXXXX)
    $cc -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-builtin -fno-plt -fno-stack-protector \
        -ffile-prefix-map="$PWD"=. -shared -nostdlib -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,relro -Wl,-s \
        -Wl,-soname,"$soname" "${flags[@]}" -o "$new" "$@" || { rm -f "$new"; return 1; }
    chmod 755 "$new"
    mv "$new" "$file"
}

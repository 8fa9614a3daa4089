#!/usr/bin/env bash
# Checks what clusters take of deploy/ with the programs that read it: Helm (lint, values that its schema refuses, and
# the plain manifests are the chart's), and promtool (the rules of alerts and their tests).
#
#   scripts/fleet/deploy.sh
#
# Gets both once, below $FLEET_DIR (/var/tmp/ipytracer-fleet): promtool of Debian's package, unpacked; Helm compiled of
# its Go module, which takes 4 minutes of processor time. Needs apt, dpkg, Go, and python3-yaml.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${FLEET_DIR:-/var/tmp/ipytracer-fleet}
chart=deploy/helm/ipytracer-agent
helm_version=v4.3.1
mkdir -p "$dir"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

promtool() {
    local tool=$dir/promtool/usr/bin/promtool
    if [ ! -e "$dir/promtool/.complete" ]; then
        (cd "$work" && { apt-get download -qq prometheus 2>/dev/null ||
            { apt-get update -qq && apt-get download -qq prometheus; }; } 2>/dev/null)
        rm -rf "$dir/promtool" && mkdir "$dir/promtool"
        dpkg-deb -x "$work"/prometheus_*.deb "$dir/promtool"
        touch "$dir/promtool/.complete"
    fi
    "$tool" "$@"
}

helm() {
    local folder=$dir/helm-$helm_version
    if [ ! -e "$folder/.complete" ]; then
        echo "compiling Helm $helm_version …" >&2
        rm -rf "$folder" && mkdir "$folder"
        (cd "$folder" && echo "module helm" >go.mod &&
            export CGO_ENABLED=0 GOFLAGS="-trimpath -mod=mod" GOWORK=off &&
            go get -tool "helm.sh/helm/v4/cmd/helm@$helm_version" &&
            nice -n 19 go build -o helm helm.sh/helm/v4/cmd/helm) >"$work/log" 2>&1 ||
            { tail -n 20 "$work/log" >&2; exit 1; }
        touch "$folder/.complete"
    fi
    "$folder/helm" "$@"
}

holds() { echo "deploy: $*"; }

promtool check rules deploy/prometheus/rules.yaml >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
promtool test rules deploy/prometheus/rules_test.yaml >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
version=$(promtool --version 2>&1 | awk 'NR == 1 { print $3 }')
holds "promtool $version: the rules of alerts are right, and do what their tests say"

helm lint --strict "$chart" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
helm template ipytracer-agent "$chart" --namespace ipytracer >"$work/manifests.yaml"
/usr/bin/python3 - "$work/manifests.yaml" deploy/kubernetes/agent.yaml <<'END'
import sys

import yaml

helm, plain = ({one["kind"]: one for one in yaml.safe_load_all(open(name)) if one} for name in sys.argv[1:])
del plain["Namespace"]
sys.exit("deploy/kubernetes/agent.yaml is not what Helm makes of the chart" if helm != plain else 0)
END
for mistake in port=80 prot=9464 rbac=perhaps config.listen=:1 'hubs[0].secret=a'; do
    ! helm template x "$chart" --set "$mistake" >"$work/log" 2>&1 || { echo "Helm takes --set $mistake" >&2; exit 1; }
    grep -q "specifications of the schema" "$work/log" || { cat "$work/log"; exit 1; }
done
helm template x "$chart" --set rbac=false,annotations=false,image.tag=v1 --set 'imagePullSecrets={a}' >/dev/null
helm template x "$chart" --set 'hubs[0].secret=a,hubs[0].namespaces=jhub' >"$work/manifests.yaml"
grep -q "^  clusterIP: None" "$work/manifests.yaml" || { echo "the hubs' Service is not there" >&2; exit 1; }
holds "Helm $helm_version: the chart has no mistake, wrong values are refused, and the plain manifests are the chart's"

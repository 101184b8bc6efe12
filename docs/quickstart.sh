#!/usr/bin/env bash
# What the README's first command shows: a real control plane, hookrunner with the hooks of ./hooks, one new namespace,
# and the label that the hook gives it. Everything is stopped and removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v jq >/dev/null || { echo "jq is missing: apt-get install jq" >&2; exit 1; }
scratch=$(mktemp -d)
planes='' runner=''
stop() {
  # shellcheck disable=SC2086 # none, one or two process ids
  kill ${runner} ${planes} 2>/dev/null || true
  wait
  rm -rf "${scratch}"
}
trap stop EXIT

echo "1. Start a Kubernetes control plane (built on the first call, about 5 minutes)"
python3 -m tests.controlplane >"${scratch}/env" &
planes=$!
until [[ -s ${scratch}/env ]]; do
  kill -0 "${planes}" 2>/dev/null || exit 1
  sleep 0.2
done
# shellcheck disable=SC1091
source "${scratch}/env"
kubectl=$(python3 -c 'from tests.controlplane.tools import find_tool; print(find_tool("kubectl"))')

echo "2. hookrunner start --hooks-dir hooks"
hookrunner start --hooks-dir hooks --listen-port 0 --tmp-dir "${scratch}/tmp" --log-type text >"${scratch}/log" 2>&1 &
runner=$!

echo "3. kubectl create namespace demo"
"${kubectl}" create namespace demo
"${kubectl}" wait namespace/demo --timeout=30s \
  --for='jsonpath={.metadata.labels.pod-security\.kubernetes\.io/warn}=baseline' || { cat "${scratch}/log" >&2; exit 1; }
"${kubectl}" get namespace demo --show-labels
echo "4. The hook has labelled it. What hookrunner logged:"
cat "${scratch}/log"

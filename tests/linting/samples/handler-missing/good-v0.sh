#!/usr/bin/env bash
source "$(hookrunner shell-lib)"
__config__() {
  echo '{"onKubernetesEvent": [{"name": "nodes", "kind": "Node"}]}'
}
hook::run "$@"

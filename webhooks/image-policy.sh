#!/usr/bin/env bash
# Refuses containers whose image may be another one tomorrow: with the tag `latest`, or with no tag at all. Containers
# without a memory limit are let through with a warning.
#
# Only in namespaces that ask for it:  kubectl label namespace shop hookrunner.io/image-policy=enforce
#
# What is there already may still be changed: of an update only the images count that were not there before.
set -euo pipefail
command -v jq > /dev/null || { echo "jq is missing: install it, or take this hook away" >&2; exit 1; }

if [[ ${1:-} == --config ]]; then
  cat <<'EOF'
configVersion: v1
kubernetesValidating:
- name: image-policy.hookrunner.io
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}
  - apiGroups: [apps]
    apiVersions: [v1]
    resources: [deployments, statefulsets, daemonsets]
    operations: [CREATE, UPDATE]
  - {apiGroups: [batch], apiVersions: [v1], resources: [jobs, cronjobs], operations: [CREATE, UPDATE]}
  namespace:
    labelSelector: {matchLabels: {hookrunner.io/image-policy: enforce}}
EOF
  exit 0
fi

# A registry may have a port, so that a tag is what follows the colon in the last part of a name; a digest never changes.
jq '
  def containers: (. // {}) | (.spec.jobTemplate // .) | (.spec.template // .) | .spec
    | ((.initContainers // []) + (.containers // []))[];
  def moving: contains("@") or (split("/") | last | test(":(?!latest$)")) | not;
  .[0].review.request
  | [.oldObject | containers | .image] as $known
  | [.object | containers | select((.image // "") as $image | ($image | moving) and ($known | index([$image]) | not))
      | "\(.name): \(.image)"] as $bad
  | {
      allowed: ($bad == []),
      message: "name a version of each image, not `latest`: \($bad | join(", "))",
      code: 422,
      warnings: [.object | containers | select(.resources.limits.memory | not)
        | "container \(.name) has no memory limit: it may take the memory of its neighbours"]
    }
  | if .allowed then del(.message, .code) else . end
' "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"

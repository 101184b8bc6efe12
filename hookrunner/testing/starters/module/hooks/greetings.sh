#!/usr/bin/env bash
# Answers the API server about Greetings: fills them in, accepts or refuses them, and converts between their versions.
# Needs jq. A cluster has to reach hookrunner for it (docs/webhooks.md); without webhooks, remove this file and the
# version v1 in crds/greetings.yaml.
set -euo pipefail

if [[ ${1:-} == --config ]]; then
  cat <<'EOF'
configVersion: v1
kubernetesMutating:
- name: fill-in.hello-world.example.com
  rules: &rules
  - {apiGroups: [hello-world.example.com], apiVersions: ["*"], resources: [greetings], operations: [CREATE, UPDATE]}
  failurePolicy: Ignore
kubernetesValidating:
- name: words.hello-world.example.com
  rules: *rules
  failurePolicy: Ignore     # Fail would refuse Greetings while hookrunner does not answer
kubernetesCustomResourceConversion:
- name: lines
  crdName: greetings.hello-world.example.com
  conversions:
  - {fromVersion: v1, toVersion: v2}
  - {fromVersion: v2, toVersion: v1}
EOF
  exit 0
fi

case $(jq -r '.[0].type' "$BINDING_CONTEXT_PATH") in
  Mutating)
    # A patch of the object (RFC 6902), here a label.
    jq '.[0].review.request.object
      | {allowed: true, patch: (if .metadata.labels then [{op: "add", path: "/metadata/labels/greeted", value: "true"}]
          else [{op: "add", path: "/metadata/labels", value: {greeted: "true"}}] end | tojson | @base64)}' \
      "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
    ;;
  Validating)
    jq --slurpfile values "$VALUES_PATH" '.[0].review.request.object.spec
      | (.text // (.lines // [] | join(" "))) as $text
      | [$values[0].helloWorld.forbidden[]? | select(. as $word | $text | contains($word))]
      | if length > 0 then {allowed: false, message: "the Greeting contains a forbidden word: \(join(", "))"}
        else {allowed: true} end' "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
    ;;
  Conversion)
    # All objects come back in the version that is asked for, with the same metadata.
    jq '.[0] | .toVersion as $to | .review.request.objects
      | map(.apiVersion = "hello-world.example.com/\($to)"
          | .spec |= (if . == null then . elif $to == "v2" then {lines: (.text // "" | split("\n"))}
              else {text: (.lines // [] | join("\n"))} end))
      | {convertedObjects: .}' "$BINDING_CONTEXT_PATH" > "$CONVERSION_RESPONSE_PATH"
    ;;
esac

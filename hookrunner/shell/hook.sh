# shellcheck shell=bash
# What a hook does: answer --config, or handle each element of the binding context with the best handler it defines.

# hook::run "$@", as the last line of a hook.
hook::run() {
  if [[ ${1:-} == --config ]]; then
    __config__
    exit 0
  fi
  local count index
  count=$(context::global::jq length)
  for ((index = 0; index < count; index++)); do
    export BINDING_CONTEXT_CURRENT_INDEX=${index}
    hook::_handle
  done
}

# Handle the current element in a subshell: no variable survives from one element to the next.
hook::_handle() {
  local lines handlers handler
  lines=$(context::jq -r "${HOOK_HANDLERS}")
  mapfile -t handlers <<<"${lines}"
  export BINDING_CONTEXT_CURRENT_BINDING=${handlers[0]}
  handlers=("${handlers[@]:1}")
  for handler in "${handlers[@]}"; do
    if declare -F "${handler}" >/dev/null; then
      # The handler reports its own failure; the hook around it ends without a second report.
      trap - ERR
      (
        trap 'shell_lib::fail $?' ERR
        "${handler}"
      )
      trap 'shell_lib::fail $?' ERR
      return 0
    fi
  done
  echo "ERROR: Can't find any handler from the list: ${handlers[*]}" >&2
  return 1
}

# jq: the binding's name, then the handlers for an element, the most special first.
# shellcheck disable=SC2016
HOOK_HANDLERS='
(.binding // "unknown") as $binding
| "__on_kubernetes::\($binding)" as $kubernetes
| $binding,
  (if $binding == "onStartup" then "__on_startup"
   elif has("type") | not then
     $binding | select(test("^((before|after)(All|Helm|DeleteHelm))$"))
     | "__on_" + gsub("(?<letter>[A-Z])"; "_" + (.letter | ascii_downcase))
   elif .type == "Synchronization" then "\($kubernetes)::synchronization", $kubernetes
   elif .type == "Event" then
     ({Added: ["added", "added_or_modified"], Modified: ["modified", "added_or_modified"], Deleted: ["deleted"]}
      [.watchEvent][] | "\($kubernetes)::\(.)"), $kubernetes
   elif .type == "Group" then "__on_group::\(.groupName)"
   elif .type == "Schedule" then "__on_schedule::\($binding)"
   elif .type == "Validating" then "__on_validating::\($binding)"
   elif .type == "Mutating" then "__on_mutating::\($binding)"
   elif .type == "Conversion" then
     ([.fromVersion, .toVersion] | map(sub("/"; ".")) | "__on_conversion::\($binding)::\(join("::"))"),
     "__on_conversion::\($binding)"
   else empty end),
  "__main__"
'

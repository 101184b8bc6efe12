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

# hook::serve "$@", as the last line of a resident hook: as hook::run, and with --resident it stays (docs/hook-protocol.md).
# Each run is handled in a subshell, with files as a process of its own has them.
hook::serve() {
  if [[ ${1:-} != --resident ]]; then
    hook::run "$@"
    return
  fi
  local line
  export HOOK_FILES
  HOOK_FILES=$(mktemp -d)
  trap 'rm -rf "${HOOK_FILES}"' EXIT
  while IFS= read -r line <&3; do
    case ${line} in
      '{"hello":'*) echo '{"hello": {"version": 1, "capabilities": ["file"], "sdk": "bash"}}' >&4 ;;
      '{"run":'*) hook::_serve_run "${line}" ;;
    esac
  done
}

# Handle the run in this line, and answer it.
hook::_serve_run() {
  local id file status=0
  printf '%s\n' "$1" >"${HOOK_FILES}/run"
  { IFS= read -r id && IFS= read -r file; } < <(jq -r '.run | .id, .file // ""' "${HOOK_FILES}/run")
  if [[ -n ${file} ]]; then
    cp "${file}" "${HOOK_FILES}/run"
  fi
  for file in patches metrics admission conversion config values conditions again; do
    : >"${HOOK_FILES}/${file}"
  done
  # Not in a condition: there, nothing would stop the subshell at an error.
  trap - ERR
  set +o errexit
  (
    set -o errexit
    trap 'shell_lib::fail $?' ERR
    hook::_give_files
    hook::run
  ) 3<&- 4>&-
  status=$?
  set -o errexit
  trap 'shell_lib::fail $?' ERR
  jq -cn --arg id "${id}" --argjson status "${status}" --rawfile patches "${HOOK_FILES}/patches" \
    --slurpfile metrics "${HOOK_FILES}/metrics" --slurpfile admission "${HOOK_FILES}/admission" \
    --slurpfile conversion "${HOOK_FILES}/conversion" --slurpfile config "${HOOK_FILES}/config" \
    --slurpfile values "${HOOK_FILES}/values" --slurpfile conditions "${HOOK_FILES}/conditions" \
    --slurpfile again "${HOOK_FILES}/again" "${HOOK_ANSWER}" >&4
}

# Set the variables of a run, and write the files that it reads.
hook::_give_files() {
  export BINDING_CONTEXT_PATH=${HOOK_FILES}/context METRICS_PATH=${HOOK_FILES}/metrics
  export KUBERNETES_PATCH_PATH=${HOOK_FILES}/patches CONVERSION_RESPONSE_PATH=${HOOK_FILES}/conversion
  export VALIDATING_RESPONSE_PATH=${HOOK_FILES}/admission ADMISSION_RESPONSE_PATH=${HOOK_FILES}/admission
  export RUN_AGAIN_PATH=${HOOK_FILES}/again
  jq -c .run.contexts "${HOOK_FILES}/run" >"${BINDING_CONTEXT_PATH}"
  if [[ $(jq '.run | has("values")' "${HOOK_FILES}/run") == true ]]; then
    export CONFIG_VALUES_PATH=${HOOK_FILES}/given-config VALUES_PATH=${HOOK_FILES}/given-values
    export CONFIG_VALUES_JSON_PATCH_PATH=${HOOK_FILES}/config VALUES_JSON_PATCH_PATH=${HOOK_FILES}/values
    jq -c .run.configValues "${HOOK_FILES}/run" >"${CONFIG_VALUES_PATH}"
    jq -c .run.values "${HOOK_FILES}/run" >"${VALUES_PATH}"
  fi
  if [[ $(jq '.run | has("instance")' "${HOOK_FILES}/run") == true ]]; then
    export ADDON_OBJECT_PATH=${HOOK_FILES}/instance CONDITIONS_PATH=${HOOK_FILES}/conditions ADDON_PACKAGE_DIR
    jq -c .run.instance "${HOOK_FILES}/run" >"${ADDON_OBJECT_PATH}"
    ADDON_PACKAGE_DIR=$(jq -r .run.packageDirectory "${HOOK_FILES}/run")
  fi
}

# jq: the answer, of the contents of the files.
# shellcheck disable=SC2016
HOOK_ANSWER='
{answer: ({id: $id}
  + if $patches == "" then {} else {operations: $patches} end
  + if $status != 0 then {outcome: "failed", message: "exit status \($status), see the log"} else
      {metrics: $metrics, admission: $admission[0], conversion: $conversion[0], configValuesPatch: ($config | flatten(1)),
       valuesPatch: ($values | flatten(1)), conditions: $conditions, runAgainAfterSeconds: $again[0]}
    end)}
'

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

# shellcheck shell=bash
# Functions for hooks of modules and global hooks: they read values, and ask for changes (docs/hooks.md).
#
# A PATH is one as in context.sh and begins with `global` or the module's key: myModule.auth.password. With --config a
# function is about what users have set, and what it changes is written into the ConfigMap; without, about values as they
# are in the end, and what it changes is kept in memory. What is read are the values at the start of the hook.

# values::jq [--config] ARGS…: jq over the values.
values::jq() {
  local file=${VALUES_PATH}
  if [[ ${1:-} == --config ]]; then
    file=${CONFIG_VALUES_PATH}
    shift
  fi
  jq "$@" "${file}"
}

# values::get [--config] [--required] PATH: print the value there, strings without quotes, null where nothing is.
# With --required an absent value is an error.
values::get() {
  local parent key required='' config=()
  while [[ ${1:-} == --config || ${1:-} == --required ]]; do
    if [[ $1 == --config ]]; then config=(--config); else required=yes; fi
    shift
  done
  if [[ -n ${required} ]] && ! values::has "${config[@]}" "${1:-}"; then
    echo "Error: Value ${1:-} required, but doesn't exist" >&2
    return 1
  fi
  context::_split "${1:-}" || return 1
  values::jq "${config[@]}" -r "try (.${parent}${key}) catch null"
}

# values::has [--config] PATH: is there a value, be it null?
values::has() {
  local parent key config=()
  if [[ ${1:-} == --config ]]; then config=(--config) && shift; fi
  context::_split "${1:-}" || return 1
  values::jq "${config[@]}" -e "try (.${parent} | has(${key:1:-1})) catch false" >/dev/null
}

# values::is_true [--config] PATH, values::is_false [--config] PATH: "true" is not true.
values::is_true() {
  [[ $(values::_json "$@") == true ]]
}

values::is_false() {
  [[ $(values::_json "$@") == false ]]
}

# values::array_has [--config] PATH TEXT: is TEXT an element of the list there?
values::array_has() {
  values::_json "${@:1:$#-1}" | jq -e --arg text "${*: -1}" 'type == "array" and any(.[]; . == $text)' >/dev/null
}

# values::set [--config] PATH VALUE: VALUE is JSON, or a text. What it is put into must be there; a PATH that ends in .-
# appends to a list.
values::set() {
  local config=()
  if [[ ${1:-} == --config ]]; then config=(--config) && shift; fi
  values::_ask "${config[@]}" "$1" "{op: \"add\", path: \$path, value: (\$value | try fromjson catch \$value)}" "$2"
}

# values::unset [--config] PATH: remove the value, if it is there.
values::unset() {
  local config=()
  if [[ ${1:-} == --config ]]; then config=(--config) && shift; fi
  if values::has "${config[@]}" "$1"; then
    values::_ask "${config[@]}" "$1" "{op: \"remove\", path: \$path}"
  fi
}

values::_json() {
  local parent key config=()
  if [[ ${1:-} == --config ]]; then config=(--config) && shift; fi
  context::_split "${1:-}" || return 1
  values::jq "${config[@]}" -c "try (.${parent}${key}) catch null"
}

# [--config] PATH OPERATION [VALUE]: add an operation, made by jq of $path and $value, to the patch.
values::_ask() {
  local parent key file=${VALUES_JSON_PATCH_PATH}
  if [[ $1 == --config ]]; then
    file=${CONFIG_VALUES_JSON_PATCH_PATH}
    shift
  fi
  context::_split "$1" || return 1
  jq -nc --arg value "${3:-}" "(path(.${parent}${key}) | map(${VALUES_STEP}) | add) as \$path | $2" >>"${file}"
}

# jq: a part of a path as it stands in a JSON pointer.
VALUES_STEP='"/" + (tostring | gsub("~"; "~0") | gsub("/"; "~1"))'

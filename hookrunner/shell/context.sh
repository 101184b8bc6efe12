# shellcheck shell=bash
# Functions that read the binding context (the file BINDING_CONTEXT_PATH), whole or the element that is being handled.
#
# A PATH has parts with dots between them. A quoted part may hold dots (a."b.c".d), single quotes do as well as double
# ones; a part of digits is an array index (list.0.name, the same as list[0].name); the empty PATH is the whole context.

# jq over the whole file.
context::global::jq() {
  jq "$@" "${BINDING_CONTEXT_PATH}"
}

# jq over the element that is being handled.
context::jq() {
  context::global::jq ".[${BINDING_CONTEXT_CURRENT_INDEX:-0}]" | jq "$@"
}

# context::get [--required] PATH: print the value there, strings without quotes, null where nothing is.
# With --required an absent value is an error.
context::get() {
  local parent key required=
  if [[ ${1:-} == --required ]]; then
    required=yes
    shift
  fi
  if [[ -n ${required} ]] && ! context::has "${1:-}"; then
    echo "Error: Value ${1:-} required, but doesn't exist" >&2
    return 1
  fi
  context::_split "${1:-}" || return 1
  context::jq -r "try (.${parent}${key}) catch null"
}

# context::has PATH: is there a value, be it null?
context::has() {
  local parent key
  context::_split "${1:-}" || return 1
  if [[ -n ${key} ]]; then
    context::jq -e "try (.${parent} | has(${key:1:-1})) catch false" >/dev/null
  fi
}

# Strict comparisons: "true" is not true, and an absent value is null.
context::is_true() {
  context::_is "${1:-}" true
}

context::is_false() {
  context::_is "${1:-}" false
}

context::is_null() {
  context::_is "${1:-}" null
}

context::_is() {
  local parent key
  context::_split "$1" || return 1
  context::jq -e "(try (.${parent}${key}) catch null) == $2" >/dev/null
}

# PATH for jq, all of it but its last part, and that part alone: for the libraries that modules bring along, which build
# functions of their own on these names (Deckhouse's values::get).
context::_convert_user_path_to_jq_path() {
  local parent key
  context::_split "${1:-}" || return 1
  echo ".${parent}${key}"
}

context::_dirname() {
  local parent key
  context::_split "${1:-}" || return 1
  echo "${parent}"
}

context::_basename() {
  local parent key
  context::_split "${1:-}" || return 1
  key=${key#[} key=${key%]} key=${key#\"}
  echo "${key%\"}"
}

# Split PATH into the caller's `parent` and `key`: the last step and all before it, each as ["name"] or [0].
context::_split() {
  local rest=${1#.} part
  rest=${rest//\'/\"}
  local quoted='^("[^"]*")' bracket='^(\["[^"]*"\]|\[[^]"]*\])' plain='^([^].["]+)'
  parent='' key=''
  while [[ -n ${rest} ]]; do
    parent+=${key}
    if [[ ${rest} =~ ${quoted} ]]; then
      key="[${BASH_REMATCH[1]}]"
    elif [[ ${rest} =~ ${bracket} ]]; then
      key=${BASH_REMATCH[1]}
    elif [[ ${rest} =~ ${plain} ]]; then
      part=${BASH_REMATCH[1]}
      if [[ ${part} == *[!0-9]* ]]; then
        part="\"${part}\""
      fi
      key="[${part}]"
    else
      echo "Error: Value path $1 cannot be read at '${rest}'" >&2
      return 1
    fi
    rest=${rest:${#BASH_REMATCH[1]}}
    rest=${rest#.}
  done
}

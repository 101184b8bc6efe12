# shellcheck shell=bash
# The shell framework for hooks: source it first, then define __config__ and handlers, then call `hook::run "$@"`.
#
# It makes bash stop at the first error and say where it was. It needs bash 4.4 and jq. The functions for hooks are in
# context.sh, hook.sh and values.sh, in /frameworks/shell or else beside this file. Every other *.sh file below
# /frameworks/shell is sourced too, so an image can add its own. Nothing else is: the file may lie beside hooks.

# Only once in a process: a file below /frameworks/shell may source this one, too.
if [[ ${shell_lib_sourced_by:-} == "$$" ]]; then
  return 0
fi
shell_lib_sourced_by=$$

set -o errexit -o errtrace -o nounset -o pipefail
shopt -s inherit_errexit

# Print where the hook was when a command failed, outermost call first, and end with the command's status.
shell_lib::fail() {
  local status=$1 depth file line
  trap - ERR
  {
    echo 'Traceback (most recent call last):'
    for ((depth = ${#FUNCNAME[@]} - 1; depth > 0; depth--)); do
      file=${BASH_SOURCE[depth]} line=${BASH_LINENO[depth - 1]}
      echo "  File \"${file}\", line ${line}, in ${FUNCNAME[depth]}"
      if [[ -f ${file} ]]; then
        sed -n "${line}s/^[[:space:]]*/    /p" "${file}"
      fi
    done
    echo "Exiting with status ${status}"
  } >&2
  exit "${status}"
}

trap 'shell_lib::fail $?' ERR

# Set shell_lib_files to the files to source: those of the framework that /frameworks/shell lacks, then all that it has, in
# the order of their names. A file there may replace one of the framework.
shell_lib::find() {
  local added=/frameworks/shell own='' name file
  shell_lib_files=()
  for name in context hook values; do
    if [[ -f ${added}/${name}.sh ]]; then
      continue
    fi
    own=${own:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")}
    if [[ ! -f ${own}/${name}.sh ]]; then
      echo "Error: ${BASH_SOURCE[0]} needs context.sh, hook.sh and values.sh beside it: copy these, too," \
        "or source \"\$(hookrunner shell-lib)\"" >&2
      exit 1
    fi
    shell_lib_files+=("${own}/${name}.sh")
  done
  shopt -s globstar nullglob
  for file in "${added}"/**/*.sh; do
    if [[ ${file##*/} != shell_lib.sh ]]; then
      shell_lib_files+=("${file}")
    fi
  done
  shopt -u globstar nullglob
}

shell_lib::find
for shell_lib_file in "${shell_lib_files[@]}"; do
  # shellcheck disable=SC1090
  source "${shell_lib_file}"
done
unset shell_lib_file shell_lib_files

# Not before: an empty directory is no error.
shopt -s failglob

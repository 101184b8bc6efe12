# shellcheck shell=bash
# The shell framework for hooks: source it first, then define __config__ and handlers, then call `hook::run "$@"`.
#
# It makes bash stop at the first error and say where it was. It needs bash 4.4 and jq. The functions for hooks are in
# context.sh, hook.sh and values.sh; every *.sh file below /frameworks/shell is sourced too, so an image can add its
# own. Where that directory is missing (a laptop), the files beside this one are used. Behaviour: shell-operator.md §13.

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

shell_lib_directory=/frameworks/shell
if [[ ! -d ${shell_lib_directory} ]]; then
  shell_lib_directory=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
fi
shopt -s globstar nullglob
for shell_lib_file in "${shell_lib_directory}"/**/*.sh; do
  if [[ ${shell_lib_file##*/} != shell_lib.sh ]]; then
    # shellcheck disable=SC1090
    source "${shell_lib_file}"
  fi
done
shopt -u globstar nullglob
unset shell_lib_directory shell_lib_file

# Not before: an empty directory is no error.
shopt -s failglob

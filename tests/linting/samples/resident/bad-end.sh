#!/bin/sh
if [ "$1" = --config ]; then
  echo '{"configVersion": "v1", "onStartup": 1, "settings": {"resident": true}}'
  exit
fi
if [ "$1" = --resident ]; then
  read -r hello <&3
  echo '{"hello": {"version": 1}}' >&4
  read -r run <&3 || exit 1
fi

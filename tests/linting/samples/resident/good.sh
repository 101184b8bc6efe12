#!/bin/sh
if [ "$1" = --config ]; then
  echo '{"configVersion": "v1", "onStartup": 1, "settings": {"resident": true}}'
  exit
fi
if [ "$1" = --resident ]; then
  jq -c --unbuffered 'if .hello then {hello: {version: 1}} elif .run then {answer: {id: .run.id}} else empty end' <&3 >&4
fi

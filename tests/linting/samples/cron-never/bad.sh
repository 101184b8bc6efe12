#!/bin/sh
cat <<'CONFIG'
configVersion: v1
schedule:
- {name: never, crontab: "0 0 30 2 *"}
CONFIG

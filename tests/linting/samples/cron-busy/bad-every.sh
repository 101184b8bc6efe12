#!/bin/sh
cat <<'CONFIG'
configVersion: v1
schedule:
- {crontab: "@every 1s"}
CONFIG

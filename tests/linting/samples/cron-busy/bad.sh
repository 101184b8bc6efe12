#!/bin/sh
cat <<'CONFIG'
configVersion: v1
schedule:
- {name: minutely, crontab: "* * * * * *"}
CONFIG

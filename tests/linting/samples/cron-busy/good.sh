#!/bin/sh
cat <<'CONFIG'
configVersion: v1
schedule:
- {crontab: "*/5 * * * * *"}
- {crontab: "@every 10s"}
CONFIG

#!/bin/sh
# An ignore of a line speaks for that line; only one within the first ten lines speaks for the file.
#
#
#
#
#
#
#
#
cat <<'CONFIG'
configVersion: v1 # hookrunner: ignore=cron-busy
schedule:
- {crontab: "@every 1s"}
CONFIG

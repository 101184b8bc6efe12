#!/usr/bin/env bash -e
echo '{"configVersion": "v1", "onStartup": 1}'

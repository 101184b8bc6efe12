#!/usr/bin/env -S bash -e
echo '{"configVersion": "v1", "onStartup": 1}'

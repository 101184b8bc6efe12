#!/bin/sh
# hookrunner: ignore=first-only,first-onyl
echo '{"configVersion": "v1", "onStartup": 1}'

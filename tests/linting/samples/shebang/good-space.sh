#! /bin/sh -e
echo '{"configVersion": "v1", "onStartup": 1}'

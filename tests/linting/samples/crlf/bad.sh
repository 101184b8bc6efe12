#!/bin/sh
echo "{\"configVersion\": \"v1\", \"onStartup\": 1}"

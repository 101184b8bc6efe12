#!/bin/bash
# A library of the hook beside it: sourced, never run.
names() { jq -r '.[].binding' "$BINDING_CONTEXT_PATH"; }

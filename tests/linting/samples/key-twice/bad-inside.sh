#!/usr/bin/env bash
if [[ $1 == --config ]]; then
	cat <<-EOF
	{"configVersion": "v1", "kubernetes": [{
	  "kind": "Node",
	  "jqFilter": ".spec",
	  "jqFilter": ".metadata.labels"
	}]}
	EOF
fi

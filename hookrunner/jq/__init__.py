"""jq programs: what a binding's filter and a JQPatch run on. The public face is `program.py`."""

"""Hooks as stories write them: a config and a few lines of bash.

Each hook appends the contexts that it gets, as one line of JSON, to `$TOLD/<its file name>.jsonl` before its own lines
run. Files in `$TOLD` are how a test and a running hook speak to each other.
"""

import json
from typing import Any

TELL = """\
name=${0##*/}
cat "$BINDING_CONTEXT_PATH" >> "$TOLD/$name.jsonl"
"""

FAIL_ONCE = """\
[ -e "$TOLD/failed-$name" ] || { touch "$TOLD/failed-$name"; echo "not the first time" >&2; exit 1; }
"""
"""The first run fails, later ones do not."""

FAIL_ALWAYS = 'echo "never" >&2; exit 1\n'

HOLD = 'until [ -e "$TOLD/go" ]; do sleep 0.02; done\n'
"""Runs until the test tells `go`."""


def hook(config: dict[str, Any], body: str = "") -> str:
    """A bash hook with a config of version v1, or of the version that it names."""
    text = json.dumps(config if "onKubernetesEvent" in config else {"configVersion": "v1", **config})
    return f"#!/bin/bash\n[ \"$1\" = --config ] && exec cat <<'EOF'\n{text}\nEOF\n{TELL}{body}"


def configmaps(namespace: str, /, **more: Any) -> dict[str, Any]:
    """A binding named `cms` to the ConfigMaps of a namespace; `more` overrides."""
    where = {"nameSelector": {"matchNames": [namespace]}}
    return {"name": "cms", "apiVersion": "v1", "kind": "ConfigMap", "namespace": where, **more}


def watching(namespace: str, body: str = "", settings: dict[str, Any] | None = None, **more: Any) -> str:
    """A hook with the one binding of `configmaps`."""
    config: dict[str, Any] = {"kubernetes": [configmaps(namespace, **more)]}
    return hook({**config, "settings": settings} if settings else config, body)


def patching(operations: list[dict[str, Any]], event: str = "") -> str:
    """Lines that write operations to the patch file; with `event`, only in a run whose contexts hold that word."""
    lines = "".join(f"{json.dumps(operation)}\n" for operation in operations)
    write = f"cat > \"$KUBERNETES_PATCH_PATH\" <<'EOF'\n{lines}EOF\n"
    return f"if grep -q '{event}' \"$BINDING_CONTEXT_PATH\"; then\n{write}fi\n" if event else write

"""Hooks of modules as stories write them. All append to one file, so that the order among them is known."""

import json
from typing import Any

TELL = """\
name=${0#"${TOLD%/told}/"}
printf '{"hook":"%s","contexts":%s,"values":%s,"config":%s}\\n' "$name" \\
  "$(<"$BINDING_CONTEXT_PATH")" "$(<"$VALUES_PATH")" "$(<"$CONFIG_VALUES_PATH")" >> "$TOLD/history"
"""

SCRIPT = '#!/bin/bash\necho "asked $0" >> "$TOLD/asked"\n'


def hook(body: str = "", **config: Any) -> str:
    """A bash hook that tells what it was given and then does what `body` says."""
    text = json.dumps({"configVersion": "v1", **config})
    return f"#!/bin/bash\n[ \"$1\" = --config ] && exec cat <<'EOF'\n{text}\nEOF\n{TELL}{body}\n"


def patch(path: str, value: str, op: str = "add", lasting: bool = False) -> str:
    """Lines that patch values; `value` is JSON in which bash may put something."""
    file = "CONFIG_VALUES_JSON_PATCH_PATH" if lasting else "VALUES_JSON_PATCH_PATH"
    return f'cat >> "${file}" <<EOF\n{{"op":"{op}","path":"{path}","value":{value}}}\nEOF\n'


def at(binding: str, body: str) -> str:
    """Lines for contexts in which that word stands only."""
    return f'if grep -q \'"{binding}"\' "$BINDING_CONTEXT_PATH"; then\n{body}\nfi\n'


def unless(word: str, body: str = "echo broken >&2; exit 1") -> str:
    """Fail until the test tells a word."""
    return f'[ -e "$TOLD/{word}" ] || {{ {body}; }}\n'


def until_told(word: str) -> str:
    """Wait until the test tells a word."""
    return f'until [ -e "$TOLD/{word}" ]; do sleep 0.02; done\n'


def enabled(body: str) -> str:
    """An `enabled` script."""
    return SCRIPT + body + "\n"


def watching(name: str = "cms", label: str = "watched", **more: Any) -> dict[str, Any]:
    """A kubernetes binding to the ConfigMaps with a label, names as filter results."""
    chosen = {
        "namespace": {"nameSelector": {"matchNames": ["default"]}},
        "labelSelector": {"matchLabels": {label: "y"}},
    }
    kept = {"jqFilter": ".metadata.name", "keepFullObjectsInMemory": False}
    return {"name": name, "kind": "ConfigMap", "apiVersion": "v1", **chosen, **kept, **more}


def configmap(name: str, data: str = "", **labels: str) -> str:
    """A template that makes one; `data` are lines of YAML."""
    lines = [f"  {line}" for line in data.splitlines()]
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {json.dumps(labels)}}}\ndata:\n"
    return head + "\n".join(lines or ["  {}"]) + "\n"

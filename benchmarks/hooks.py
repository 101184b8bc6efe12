"""The hooks: bash scripts whose first act is to write down the time, so that nothing of the hook is measured; and
resident ones in Python, with the SDK, which do the same.

All runs of one directory append to `$TOLD`; a line is `<epoch seconds> <word>`.
"""

import json
from pathlib import Path
from typing import Any

STARTUP: dict[str, Any] = {"configVersion": "v1", "onStartup": 1}
FILTER = "{name: .metadata.name, color: .metadata.labels.color}"

_SCRIPT = """\
#!/bin/bash
now=$EPOCHREALTIME
if [[ $1 == --config ]]; then
  echo "$now config" >> "$TOLD"
  echo '{config}'
else
  {act}
fi
"""
_FIRST_WORD = 'echo "$now {word}" >> "$TOLD"'
_ADMIT = """echo '{"allowed":true}' > "$VALIDATING_RESPONSE_PATH\""""
_CONVERT = """\
echo "$now run" >> "$TOLD"
  jq -c '{convertedObjects: [.[0].review.request.objects[] | .apiVersion = "{version}"]}' \\
    "$BINDING_CONTEXT_PATH" > "$CONVERSION_RESPONSE_PATH"
  echo "$EPOCHREALTIME done" >> "$TOLD\""""
_COUNT = (
    """echo "$EPOCHREALTIME $(jq '[.[] | select(.type == "Event")] | length' "$BINDING_CONTEXT_PATH")" >> "$TOLD\""""
)

_IN_PYTHON = """\
#!/usr/bin/env python3
import os
import time

from hookrunner.sdk import Hook

hook = Hook({settings})


def tell(word):
    now = time.time()
    with open(os.environ["TOLD"], "a") as told:
        told.write(f"{now} {word}\\n")


@hook.{decorator}
def handle():
    {act}


hook.run()
"""

_PLAIN_PYTHON = """\
#!/usr/bin/env python3
import json
import os
import sys

if sys.argv[1:] == ["--config"]:
    print('{config}')
else:
    json.load(open(os.environ["BINDING_CONTEXT_PATH"]))
"""


def writes_its_start(config: dict[str, Any]) -> str:
    """A hook that does nothing but to say when its first line ran."""
    return writes(config, "run")


def writes(config: dict[str, Any], word: str) -> str:
    """The same with another word."""
    return _script(config, _FIRST_WORD.replace("{word}", word))


def counts_events(config: dict[str, Any]) -> str:
    """A hook that records when it ended and how many events it received."""
    return _script(config, _COUNT)


def admits(config: dict[str, Any]) -> str:
    """A hook that allows everything and leaves no trace."""
    return _script(config, _ADMIT)


def in_python(decorator: str, act: str = 'tell("run")', settings: str = "") -> str:
    """A resident hook: one function with this decorator, whose body is this line."""
    filled = _IN_PYTHON.replace("{decorator}", decorator).replace("{act}", act)
    return filled.replace("{settings}", settings)


def does_nothing_in_python(config: dict[str, Any]) -> str:
    """A hook in Python without the SDK, which leaves no trace."""
    return _PLAIN_PYTHON.replace("{config}", json.dumps(config))


def converts(config: dict[str, Any], version: str) -> str:
    """A hook that gives objects another `apiVersion`, and says when it began and ended."""
    return _script(config, _CONVERT.replace("{version}", version))


def watching(namespace: str, **more: object) -> dict[str, Any]:
    """A configuration for the ConfigMaps of one namespace."""
    binding = {"name": "maps", "apiVersion": "v1", "kind": "ConfigMap"}
    chosen = {"namespace": {"nameSelector": {"matchNames": [namespace]}}}
    return {"configVersion": "v1", "kubernetes": [binding | chosen | more]}


def write(directory: Path, scripts: dict[str, str]) -> None:
    """Put executable hooks into a directory."""
    directory.mkdir(parents=True)
    for name, text in scripts.items():
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)


def _script(config: dict[str, Any], act: str) -> str:
    return _SCRIPT.replace("{config}", json.dumps(config)).replace("{act}", act)

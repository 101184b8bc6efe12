"""The steps of a JSON patch that a hook wrote, checked before anybody gets them, so that an error names the step.

Source: https://www.rfc-editor.org/rfc/rfc6902
"""

from collections.abc import Iterator

from hookrunner.hooks.shapes import TEXT, Many, Problem, Table, Text, check
from hookrunner.model.resources import JSON

_STEPS = Many(
    Table(
        {"op": Text(("add", "remove", "replace", "move", "copy", "test")), "path": TEXT, "from": TEXT},
        required={"op": "replace", "path": "/spec/replicas"},
        open=True,
    )
)
_NEEDED = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from"}


def problems(steps: JSON, key: str) -> Iterator[Problem]:
    """What is wrong with the value of `key`, which is to be a list of steps."""
    yield from check(steps, _STEPS, key)
    for place, step in enumerate(steps if isinstance(steps, list) else ()):
        operation = str(step.get("op")) if isinstance(step, dict) else ""
        needed = _NEEDED.get(operation)
        if needed and needed not in step:
            yield Problem(f"{key}[{place}].{needed}", f"is required for {operation}")

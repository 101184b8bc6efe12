"""What a hook asks to be changed in the values store, and which section of it a module has."""

from dataclasses import dataclass
from typing import Literal

from hookrunner.model.resources import JSON

GLOBAL = "global"
"""The section that every module sees, and the name under which global hooks count as a module."""

ENABLED = "Enabled"
"""What a key ends with that switches a module on or off."""


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One operation on values, already checked. `path` is a JSON pointer that begins with the section's key."""

    op: Literal["add", "remove", "test"]
    path: str
    value: JSON = None

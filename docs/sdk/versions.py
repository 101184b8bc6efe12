#!/usr/bin/env python3
from typing import Any

from hookrunner.sdk import Hook

hook = Hook()


@hook.convert("doors.example.com", "v1", "v2")
def up(door: dict[str, Any]) -> None:
    door["spec"] = {"colour": door["spec"]["color"]}


@hook.convert("doors.example.com", "v2", "v1")
def down(door: dict[str, Any]) -> None:
    door["spec"] = {"color": door["spec"]["colour"]}


hook.run()

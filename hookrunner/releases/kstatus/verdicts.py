"""What is found of one object's state, and what every such rule reads: status, spec, conditions.

Source: https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""

from dataclasses import dataclass

from hookrunner.model.resources import JSON


@dataclass(frozen=True, slots=True)
class Verdict:
    """`message` says why something is not ready. `failed` is for what will not become ready by waiting."""

    ready: bool
    message: str = ""
    failed: bool = False


READY = Verdict(ready=True)


def waits(message: str) -> Verdict:
    """Not yet."""
    return Verdict(ready=False, message=message)


def fails(message: str) -> Verdict:
    """Not, and not by waiting."""
    return Verdict(ready=False, message=message, failed=True)


def spec_of(obj: JSON) -> JSON:
    """The spec, empty without one."""
    return obj.get("spec") or {}


def status_of(obj: JSON) -> JSON:
    """The status, empty without one. What a custom kind calls so may be anything."""
    status = obj.get("status")
    return status if isinstance(status, dict) else {}


def condition(obj: JSON, name: str) -> JSON:
    """The condition of this type, empty without one."""
    conditions = status_of(obj).get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and one.get("type") == name:
            return one
    return {}


def holds(found: JSON) -> bool:
    """Is a condition true?"""
    return bool(found.get("status") == "True")


def words(found: JSON) -> str:
    """What a condition, or a container's state, says for a person."""
    return ": ".join(filter(None, (found.get("reason"), found.get("message")))) or "no reason is given"

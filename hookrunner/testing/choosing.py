"""Which of a hook's bindings is meant: by name, or the only one that fits."""

from collections.abc import Callable, Sequence
from typing import Protocol

from hookrunner.errors import BadInput
from hookrunner.hooks.shapes import suggestion
from hookrunner.testing.happenings import NotRun


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def named(bindings: Sequence[_Named], wanted: str, kind: str) -> int:
    """The place of the binding with this name, or at this place (`kubernetes[1]`), or of the only one. `kind` is the
    key in the hook's configuration. Raises BadInput."""
    if not wanted:
        return only(bindings, kind, lambda place: "")
    names = [binding.name for binding in bindings]
    found = [place for place, name in enumerate(names) if wanted in (name, f"{kind}[{place}]")]
    if len(found) > 1:
        places = ", ".join(f"{kind}[{place}]" for place in found)
        raise BadInput(f"{len(found)} bindings are named '{wanted}': say which, {places}")
    if not found:
        raise BadInput(f"no {kind} binding is named '{wanted}'{suggestion(wanted, names) or _there_are(names)}")
    return found[0]


def only(bindings: Sequence[_Named], kind: str, misfit: Callable[[int], str]) -> int:
    """The place of the only binding that fits; `misfit` says why the one at a place does not, empty if it does.

    Raises BadInput if there is none or several fit, NotRun with the reasons if none fits.
    """
    if not bindings:
        raise BadInput(f"the hook has no {kind} binding")
    reasons = {place: misfit(place) for place in range(len(bindings))}
    fitting = [place for place, reason in reasons.items() if not reason]
    if len(fitting) > 1:
        names = ", ".join(bindings[place].name for place in fitting)
        raise BadInput(f"several bindings fit: say which by `binding` (--binding): {names}")
    if fitting:
        return fitting[0]
    if len(bindings) == 1:
        raise NotRun(reasons[0])
    raise NotRun("; ".join(f"{bindings[place].name}: {reason}" for place, reason in reasons.items()))


def _there_are(names: Sequence[str]) -> str:
    return f"; there are {', '.join(sorted(set(names)))}" if names else "; the hook has none of that kind"

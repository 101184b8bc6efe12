"""What can be changed while the program runs: `log.level` and nothing else.

A change may be for a time; a timer ends it and the last lasting value comes back.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hookrunner import log
from hookrunner.errors import BadConfig
from hookrunner.web.formats import rfc3339
from kubetypes.json_values import JSON

_log = log.get("web.parameters")


@dataclass(frozen=True, slots=True)
class Parameter:
    """`apply` makes a value count, or raises ValueError for a wrong one. A value of `brief` lasts that many seconds if
    no duration is given."""

    name: str
    description: str
    default: str
    apply: Callable[[str], None]
    brief: tuple[tuple[str, float], ...] = ()


def log_level(level: str) -> Parameter:
    """The level of our own log, `level` from the settings. A forgotten `debug` would fill disks: 30 minutes."""
    words = ", ".join(log.LEVELS)
    brief = (("debug", 1800.0), ("trace", 1800.0))
    return Parameter("log.level", f"Level of the log: {words}.", level, log.set_level, brief)


@dataclass(slots=True)
class _State:
    lasting: str
    value: str
    error: str = ""
    expires: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def changed(self, value: str) -> None:
        """A new value counts, and the end of the one before is not awaited any more."""
        if self.timer is not None:
            self.timer.cancel()
        self.value, self.error, self.timer = value, "", None


class Parameters:
    """The parameters and their present values."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._states = {parameter.name: _State(parameter.default, parameter.default) for parameter in parameters}

    def set(self, name: str, value: str, seconds: float = 0.0) -> None:
        """Change a value, for good or for `seconds`. Raises BadConfig for a name or value that does not exist."""
        if name not in self._parameters:
            raise BadConfig(f'unknown runtime parameter "{name}"')
        parameter, state = self._parameters[name], self._states[name]
        try:
            parameter.apply(value)
        except ValueError as error:
            state.error = str(error)
            raise BadConfig(f"'value' parameter is invalid: {error}") from error
        state.changed(value)
        seconds = seconds or dict(parameter.brief).get(value, 0.0)
        if seconds:
            state.expires = time.time() + seconds
            state.timer = asyncio.get_running_loop().call_later(seconds, self._restore, name)
        else:
            state.lasting = value

    def as_json(self) -> JSON:
        """A list of objects of strings."""
        return [self._shown(self._parameters[name]) for name in sorted(self._parameters)]

    def as_text(self) -> str:
        """The same as a table."""
        rows = [("NAME", "VALUE", "EXPIRE AT", "DESCRIPTION")]
        for shown in self.as_json():
            text = f"Error: {shown['lastError']}" if "lastError" in shown else shown["description"]
            rows.append((shown["name"], shown["value"], shown.get("expireAt", ""), text))
        return "".join(f"{name:<30} {value:<20} {expires:<20} {text:<40}\n" for name, value, expires, text in rows)

    def _shown(self, parameter: Parameter) -> JSON:
        state = self._states[parameter.name]
        shown = {
            "name": parameter.name,
            "description": parameter.description,
            "default": parameter.default,
            "value": state.value,
        }
        if state.timer is not None:
            shown["expireAt"] = rfc3339(state.expires)
        if state.error:
            shown["lastError"] = state.error
        return shown

    def _restore(self, name: str) -> None:
        """The time is over."""
        state = self._states[name]
        self._parameters[name].apply(state.lasting)
        _log.info("parameter expired", parameter=name, value=state.lasting, expired=state.value)
        state.changed(state.lasting)

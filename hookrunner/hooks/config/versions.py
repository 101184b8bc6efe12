"""From what a hook printed on `--config` to its `HookConfig`: which version it speaks, then that version's rules
(shell-operator.md §1.5)."""

from hookrunner import redaction
from hookrunner.errors import BadHookConfig
from hookrunner.hooks import documents
from hookrunner.hooks.config import rules, v0, v1
from hookrunner.hooks.config.kinds import HookKind
from hookrunner.model.bindings import HookConfig
from hookrunner.model.resources import JSON
from kubetypes.yaml_values import BadDocument

_KEY = "configVersion"


def parse(hook: str, output: bytes, kind: HookKind = HookKind.PLAIN) -> HookConfig:
    """The configuration of the hook named `hook`. jq filters are not compiled here.

    Raises BadHookConfig with every problem that can be found.
    """
    try:
        raw = _mapping(output)
        is_v1 = _is_v1(raw)
        raw = raw if is_v1 else v0.lenient(raw)
    except ValueError as error:
        raise BadHookConfig(hook, [str(error)]) from None
    if found := list(rules.problems(raw, kind) if is_v1 else v0.problems(raw, kind)):
        raise BadHookConfig(hook, [*map(str, found)], values=[problem.value for problem in found])
    return v1.read(raw) if is_v1 else v0.read(raw)


def _mapping(output: bytes) -> dict[str, JSON]:
    """Raises ValueError. An answer that says nothing is an empty configuration."""
    try:
        raw = documents.first(output)
    except BadDocument as error:
        raise ValueError(f"config unmarshal: {error}") from None
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ValueError(f"config unmarshal: keys with values are expected, not {redaction.described(raw)}")
    return raw


def _is_v1(raw: dict[str, JSON]) -> bool:
    """False: v0. Raises ValueError."""
    match raw.get(_KEY, "v0"):
        case "v0" | "v1" as version:
            return bool(version == "v1")
        case None:
            raise ValueError(f"config version: missing '{_KEY}' value; write `{_KEY}: v1`")
        case str():
            raise ValueError(f"config version: '{_KEY}' value is unsupported; write `{_KEY}: v1`")
        case _:
            raise ValueError(f"config version: string value is expected for key '{_KEY}'; write `{_KEY}: v1`")

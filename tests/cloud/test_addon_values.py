"""Fields of the addon against the flags that they become: each flag of the loops is a field, under its name and with
its default, so that the package passes only what differs.

Level: pure."""

import re
from pathlib import Path
from typing import Any

import yaml

from hookrunner.options import Option, options_of
from hookrunner.settings import CloudNodeSettings, CloudSettings, LeaderElectionSettings

ADDON = Path(__file__).parents[2] / "addons" / "cloud-controller-manager"
(HELPERS,) = {file.read_text() for file in ADDON.glob("channels/packages/*/*/templates/_helpers.tpl")}
"""One text in all versions."""
SCHEMA = yaml.load((ADDON / "openapi" / "spec.yaml").read_text(), yaml.CSafeLoader)["properties"]
VALUES = yaml.load((ADDON / "values.yaml").read_text(), yaml.CSafeLoader)["cloudControllerManager"]
GROUPS = ("node", "lifecycle", "service", "route", "leaderElection")
OPTIONS: dict[str, Option] = {
    option.flag: option
    for group in (CloudSettings, CloudNodeSettings, LeaderElectionSettings)
    for option in options_of(group).values()
}
OF_THE_PROVIDER = {"cloud-provider", "providers-dir", "cloud-config", "cloud-env"}
"""Those that the package puts together from other fields."""
FOLLOWS = {"configure-cloud-routes": "true"}
"""Without the flag it follows from --cluster-cidr, as with the field."""
DEFAULTS = {flag: option.default for flag, option in OPTIONS.items() if flag not in OF_THE_PROVIDER} | FOLLOWS


def test_every_flag_of_the_loops_is_a_field_with_its_default() -> None:
    values = {flag_of(name): text_of(value) for group in GROUPS for name, value in VALUES[group].items()}
    values |= {
        "provider-timeout": VALUES["provider"]["providerTimeout"],
        "cluster-name": VALUES["clusterName"],
        "controllers": ",".join(VALUES["controllers"]),
    }
    assert values == DEFAULTS


def test_every_field_has_a_default_and_none_in_the_schema() -> None:
    """There the API server would write it into each object, for good."""
    assert leaves(VALUES, SCHEMA) == leaves(SCHEMA, SCHEMA)
    assert "default:" not in (ADDON / "openapi" / "spec.yaml").read_text()


def leaves(level: Any, schema: Any, path: str = "") -> set[str]:
    """The paths of fields in `level`, as deep as the schema names them."""
    found = set[str]()
    for name in level:
        inner = schema[name].get("properties")
        below = level[name] if level is not schema else inner
        found |= leaves(below, inner, f"{path}/{name}") if inner else {f"{path}/{name}"}
    return found


def test_package_leaves_out_exactly_the_defaults() -> None:
    (listed,) = re.findall(r"\$defaults := dict ([^}]+?) *}}", HELPERS)
    words = re.findall(r'"([^"]*)"', listed)
    defaults = {flag_of(name): text for name, text in zip(words[::2], words[1::2], strict=True)}
    single = re.findall(r'ne (?:\(join "," )?\$own\.(\S+?)\)? "([^"]+)" }}\n- .*?--([a-z-]+)=', HELPERS)
    defaults |= {flag: text for _, text, flag in single}
    assert defaults == DEFAULTS


def flag_of(name: str) -> str:
    """The flag of a field, as the package names it."""
    return re.sub("([A-Z])", r"-\1", name.replace("CIDR", "Cidr")).lower()


def text_of(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)

"""Values of the module against the flags that they become: each flag of the loops is a value, under its name and with
its default, so that the chart passes only what is another.

Level: pure."""

import re
from pathlib import Path
from typing import Any

import yaml

from hookrunner.options import Option, options_of
from hookrunner.settings import CloudNodeSettings, CloudSettings, LeaderElectionSettings

MODULE = Path(__file__).parents[2] / "modules" / "060-cloud-controller-manager"
HELPERS = (MODULE / "templates" / "_helpers.tpl").read_text()
SCHEMA = yaml.safe_load((MODULE / "openapi" / "config-values.yaml").read_text())["properties"]
GROUPS = ("node", "lifecycle", "service", "route", "leaderElection")
OPTIONS: dict[str, Option] = {
    option.flag: option
    for group in (CloudSettings, CloudNodeSettings, LeaderElectionSettings)
    for option in options_of(group).values()
}
OF_THE_PROVIDER = {"cloud-provider", "providers-dir", "cloud-config", "cloud-env"}
"""Those that the chart puts together from other values."""
FOLLOWS = {"configure-cloud-routes": "true"}
"""Without the flag it follows from --cluster-cidr, as with the value."""
DEFAULTS = {flag: option.default for flag, option in OPTIONS.items() if flag not in OF_THE_PROVIDER} | FOLLOWS


def test_every_flag_of_the_loops_is_a_value_with_its_default() -> None:
    groups = [SCHEMA[group]["properties"] for group in GROUPS]
    values = {flag_of(name): text_of(value["default"]) for group in groups for name, value in group.items()}
    values |= {
        "provider-timeout": SCHEMA["provider"]["properties"]["providerTimeout"]["default"],
        "cluster-name": SCHEMA["clusterName"]["default"],
        "controllers": ",".join(SCHEMA["controllers"]["default"]),
    }
    assert values == DEFAULTS


def test_chart_leaves_out_exactly_the_defaults() -> None:
    (listed,) = re.findall(r"\$defaults := dict ([^}]+?) *}}", HELPERS)
    words = re.findall(r'"([^"]*)"', listed)
    defaults = {flag_of(name): text for name, text in zip(words[::2], words[1::2], strict=True)}
    single = re.findall(r'ne (?:\(join "," )?\$own\.(\S+?)\)? "([^"]+)" }}\n- .*?--([a-z-]+)=', HELPERS)
    defaults |= {flag: text for _, text, flag in single}
    assert defaults == DEFAULTS


def flag_of(name: str) -> str:
    """The flag of a value, as the chart names it."""
    return re.sub("([A-Z])", r"-\1", name.replace("CIDR", "Cidr")).lower()


def text_of(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)

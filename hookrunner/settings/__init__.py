"""Every setting of the program: its flag, its variables, its default and its paragraph, once.

The fields of the groups are the one table. The command line makes its flags from it (`options`), the process reads
flags and variables through it (`load`), and `docs/settings.md` is written from it. This is the only file that looks at
the environment. A room is given its own frozen group and nothing more.

Precedence: flag, then `HOOKRUNNER_<FLAG>`, then the predecessors' variables, then the default. A
variable that is set to nothing counts as not set, as in both predecessors.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace

from hookrunner.options import TEXT, YES_NO, Compat, Option, SettingTexts, one_of, options_of
from hookrunner.settings.addons import AddonsSettings
from hookrunner.settings.groups import (
    BARE,
    EngineSettings,
    HooksSettings,
    KubeSettings,
    LogLevel,
    LogSettings,
    LogType,
    SandboxSettings,
    WebSettings,
)
from hookrunner.settings.modules import DEAD as DEAD_OF_MODULES
from hookrunner.settings.modules import ModulesSettings
from hookrunner.settings.webhooks import (
    CertificateSource,
    ConversionSettings,
    ServerSettings,
    ValidatingSettings,
    WebhookSettings,
)

__all__ = [
    "AddonsSettings",
    "CertificateSource",
    "ConversionSettings",
    "EngineSettings",
    "HooksSettings",
    "KubeSettings",
    "LogLevel",
    "LogSettings",
    "LogType",
    "ModulesSettings",
    "SandboxSettings",
    "ServerSettings",
    "Settings",
    "ValidatingSettings",
    "WebSettings",
    "WebhookSettings",
    "load",
    "options",
    "own_environment",
]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that was asked for, a group for each room. `warnings` are for the user to see."""

    compat: Compat | None = None
    hooks: HooksSettings = field(default_factory=HooksSettings)
    kube: KubeSettings = field(default_factory=KubeSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    web: WebSettings = field(default_factory=WebSettings)
    log: LogSettings = field(default_factory=LogSettings)
    validating: ValidatingSettings = field(default_factory=ValidatingSettings)
    conversion: ConversionSettings = field(default_factory=ConversionSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    modules: ModulesSettings = field(default_factory=ModulesSettings)
    addons: AddonsSettings = field(default_factory=AddonsSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    warnings: tuple[str, ...] = ()


COMPAT = Option(
    "compat",
    one_of(*Compat),
    "the name that the program is started under, if it is one of these",
    "Take this predecessor's defaults.",
)
DEAD = (
    Option("kube-server", TEXT, "", "Ignored: name the server in a kubeconfig.", BARE),
    Option("log-no-time", YES_NO, "false", "Ignored: every log record carries its time.", BARE),
    Option(
        "validating-webhook-failure-policy", TEXT, "", "Ignored: `failurePolicy` stands in the hook's config.", BARE
    ),
    *DEAD_OF_MODULES,
)
"""Flags of a predecessor that have no effect here, and mostly had none there: accepted, with a warning."""


def options() -> Iterator[Option]:
    """Every setting, in the order of the groups."""
    yield COMPAT
    for group in _groups().values():
        yield from options_of(group).values()
    yield from DEAD


def load(flags: Mapping[str, str], program: str, environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from what was given: `flags` by name without dashes, `program` the name that we were started under.

    Raises BadSetting, which names the flag or the variable, its value and what is allowed.
    """
    given = SettingTexts(flags, environ)
    compat = Compat(program) if program in tuple(Compat) else None
    if given.text(COMPAT):
        compat = Compat(given.value(COMPAT, None))
    given = SettingTexts(flags, _moved(environ)) if compat is Compat.ADDON else given
    values = {name: group(**given.values(group, compat)) for name, group in _groups().items()}
    values["validating"] = values["validating"].under(compat)
    values["modules"] = modules = values["modules"].under(compat)
    if values["sandbox"].enabled and not given.text(options_of(WebSettings)["address"]):
        values["web"] = replace(values["web"], address="127.0.0.1")
    unasked = not given.text(options_of(HooksSettings)["directory"])
    optional = unasked and (modules.on or values["addons"].on)
    values["hooks"] = replace(values["hooks"], environ=dict(environ), optional=optional)
    warnings = [_no_effect(option, source) for option in DEAD for source, _ in given.text(option)]
    return Settings(compat=compat, warnings=tuple(warnings), **values)


def own_environment() -> dict[str, str]:
    """The variables of this process, for one that it starts and that gets a part of them."""
    return dict(os.environ)


def _moved(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Variables as addon-operator reads them: all its hooks are those of modules and global ones."""
    shells = "SHELL_OPERATOR_HOOKS_DIR"
    return {"GLOBAL_HOOKS_DIR": environ.get(shells, "")} | {k: v for k, v in environ.items() if v and k != shells}


def _no_effect(option: Option, source: str) -> str:
    return f"{source} has no effect: {option.text.removeprefix('Ignored: ')}"


def _groups() -> dict[str, type]:
    return {f.name: f.type for f in fields(Settings) if is_dataclass(f.type) and isinstance(f.type, type)}

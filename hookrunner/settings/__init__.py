"""Every setting of the program: its flag, its variables, its default and its paragraph, once.

The fields of the groups are the one table. The command line makes its flags from it (`options`), the process reads
flags and variables through it (`load`), and `docs/settings.md` is written from it. This is the only file that looks at
the environment. A room is given its own frozen group and nothing more.

Precedence: flag, then `HOOKRUNNER_<FLAG>`, then the predecessors' variables, then the default. A
variable that is set to nothing counts as not set, as in both predecessors.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace
from typing import Any

from hookrunner.errors import BadSetting
from hookrunner.options import PREDECESSORS, TEXT, YES_NO, Compat, Option, SettingTexts, one_of, options_of
from hookrunner.settings.addons import AddonsSettings, DiscoverySettings
from hookrunner.settings.cloud import CloudNodeSettings, CloudSettings, LeaderElectionSettings
from hookrunner.settings.groups import (
    BARE,
    DEFAULT_HOOKS_DIR,
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
from hookrunner.settings.upstream_flags import UPSTREAM_FLAGS
from hookrunner.settings.webhooks import (
    CertificateSource,
    ConversionSettings,
    ServerSettings,
    ValidatingSettings,
    WebhookSettings,
)
from kubetypes.light_dataclasses import dataclass

__all__ = [
    "AddonsSettings",
    "CertificateSource",
    "CloudNodeSettings",
    "CloudSettings",
    "ConversionSettings",
    "DiscoverySettings",
    "EngineSettings",
    "HooksSettings",
    "KubeSettings",
    "LeaderElectionSettings",
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
    "cloud_alone",
    "cloud_options",
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
    discovery: DiscoverySettings = field(default_factory=DiscoverySettings)
    cloud: CloudSettings = field(default_factory=CloudSettings)
    cloud_nodes: CloudNodeSettings = field(default_factory=CloudNodeSettings)
    leader_election: LeaderElectionSettings = field(default_factory=LeaderElectionSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    warnings: tuple[str, ...] = ()

    @property
    def may_have_hooks(self) -> bool:
        """Does anything run here that may have hooks?"""
        return bool(self.hooks.directory or self.modules.on or self.addons.on)


COMPAT = Option(
    "compat",
    one_of(*Compat),
    "the name that the program is started under, if it is one of these",
    "Take this predecessor's defaults, or `upstream`: those of upstream's cloud controller manager.",
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

_JITTER = 1.2


def options() -> Iterator[Option]:
    """Every setting, in the order of the groups."""
    yield COMPAT
    for group in _groups().values():
        yield from options_of(group).values()
    yield from DEAD


_OF_CLOUD: tuple[type, ...] = (CloudSettings, CloudNodeSettings, LeaderElectionSettings)
_OF_EVERY_START: tuple[type, ...] = (KubeSettings, WebSettings, LogSettings, SandboxSettings)


def cloud_options() -> Iterator[Option]:
    """The settings that `hookrunner cloud start` has: those of the cloud and those that every start needs."""
    yield COMPAT
    for group in (*_OF_CLOUD, *_OF_EVERY_START):
        yield from options_of(group).values()
    yield from (options_of(HooksSettings)[name] for name in ("tmp_dir", "on_writable"))
    yield options_of(EngineSettings)["shutdown_grace"]
    yield from UPSTREAM_FLAGS


def cloud_alone(settings: Settings) -> Settings:
    """The settings of a process that runs the cloud's loops and neither hooks nor modules."""
    return replace(
        settings,
        hooks=replace(settings.hooks, directory=None),
        modules=replace(settings.modules, directories=(), global_hooks=None),
        addons=replace(settings.addons, directories=()),
        discovery=DiscoverySettings(),
    )


def load(flags: Mapping[str, str], program: str, environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings from what was given: `flags` by name without dashes, `program` the name that we were started under.

    Raises BadSetting, which names the flag or the variable, its value and what is allowed.
    """
    given = SettingTexts(flags, environ)
    compat = Compat(program) if program in PREDECESSORS else None
    if given.text(COMPAT):
        compat = Compat(given.value(COMPAT, None))
    given = SettingTexts(flags, _moved(environ)) if compat is Compat.ADDON else given
    given = replace(given, in_sandbox=given.value(options_of(SandboxSettings)["enabled"], compat))
    values = {name: group(**given.values(group, compat)) for name, group in _groups().items()}
    values["validating"] = values["validating"].under(compat)
    is_default = not given.text(options_of(ModulesSettings)["directories"])
    values["modules"] = replace(values["modules"].under(compat), default=is_default)
    if values["sandbox"].enabled and not given.text(options_of(WebSettings)["address"]):
        values["web"] = replace(values["web"], address="127.0.0.1")
    values["hooks"] = replace(values["hooks"], environ=dict(environ))
    if not given.text(options_of(HooksSettings)["directory"]):
        values["hooks"] = _default_hooks(values, given, compat)
    _check_lease(values["leader_election"])
    _check_keys(values["addons"])
    _check_kinds(values["discovery"])
    dead = (*DEAD, *UPSTREAM_FLAGS)
    warnings = [_no_effect(option, source) for option in dead for source, _ in given.text(option)]
    return Settings(compat=compat, warnings=tuple(warnings), **values)


def _default_hooks(values: Mapping[str, Any], given: SettingTexts, compat: Compat | None) -> HooksSettings:
    """The hooks of a start that names none: those of the default directory, which may be missing if there is something
    else to run. None if the start names something else: hooks that happen to be in the working directory would then
    change a cluster by surprise. An image means its hooks, and so do those who come from a predecessor."""
    hooks: HooksSettings = values["hooks"]
    modules: ModulesSettings = values["modules"]
    others = values["addons"].on or values["cloud"].on
    names_others = others or (modules.directories and not modules.default)
    is_meant = compat is not None or given.in_sandbox or bool(given.environ.get(DEFAULT_HOOKS_DIR))
    directory = None if names_others and not is_meant else hooks.directory
    return replace(
        hooks, directory=directory, default=True, optional=bool(others or modules.on or values["discovery"].on)
    )


def _check_lease(election: LeaderElectionSettings) -> None:
    """Raise BadSetting for durations with which two could lead, as client-go refuses them.

    Source: https://github.com/kubernetes/client-go/blob/master/tools/leaderelection/leaderelection.go
    """
    flag = "--leader-elect-renew-deadline"
    if election.lease_duration <= election.renew_deadline:
        raise BadSetting(f"{flag}: it must be shorter than --leader-elect-lease-duration, or two could lead at once")
    if election.renew_deadline <= _JITTER * election.retry_period:
        raise BadSetting(f"{flag}: it must be longer than {_JITTER} times --leader-elect-retry-period")


def _check_keys(addons: AddonsSettings) -> None:
    """Raise BadSetting for keys that are not used, and for signatures without a key: both look safer than they are."""
    if addons.keys and addons.verify != "signature":
        raise BadSetting(f"--addon-keys: with --addon-verify {addons.verify} no signature is checked; set signature")
    if addons.verify == "signature" and not addons.keys:
        raise BadSetting("--addon-verify: signature needs the public keys; name their files with --addon-keys")


def _check_kinds(discovery: DiscoverySettings) -> None:
    """Raise BadSetting for kinds that no one would look at."""
    if discovery.kinds and not discovery.on:
        raise BadSetting("--discovery-kinds: nothing is listed without --discovery; set both")


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

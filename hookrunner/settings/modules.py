"""The settings of modules: where they are, which are on, and how their releases come about.

Flags and variables are addon-operator's, whose documents name some variables without the
prefix: both are read, the prefixed one wins. Ours are the flags that no variable of it stands beside.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from hookrunner.options import (
    COUNT,
    COUNT_FROM_1,
    DURATION,
    MAYBE_PATH,
    SIZE,
    TEXT,
    YES_NO,
    Compat,
    Option,
    OptionType,
    matching,
    one_of,
    setting,
)
from hookrunner.settings.groups import BARE, four_for_each_cpu
from kubetypes.light_dataclasses import dataclass

EXTENDERS = ("Static", "DynamicallyEnabled", "KubeConfig", "ScriptEnabled")
"""The extenders that decide whether a module is on, in the order of their decisions."""

HelmDriver = Literal["secret", "configmap"]

_ADDON = ("ADDON_OPERATOR_{}",)
_BOTH = ("ADDON_OPERATOR_{}", *BARE)
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"((?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)=((?:[A-Za-z0-9](?:[-\w.]{0,61}\w)?)?)")


def _if_filled(name: str, _environ: Mapping[str, str]) -> str:
    """An empty directory counts as none, since the image has one: plain hooks need no ConfigMap, nor rights to it."""
    try:
        return name if os.listdir(name) else ""
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError:
        return name  # reading it later reports why it cannot be read


def _directories(text: str) -> tuple[Path, ...]:
    return tuple(Path(part).absolute() for part in text.split(":") if part)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _extenders(text: str) -> tuple[str, ...]:
    names = tuple(text.split(",")) if text else EXTENDERS
    if len(set(names)) < len(names) or not set(names) <= set(EXTENDERS):
        raise ValueError(text)
    return names


def _labels(text: str) -> Mapping[str, str]:
    matches = [_LABEL.fullmatch(part) for part in _names(text)]
    if None in matches:
        raise ValueError(text)
    return {label[1]: label[2] for label in matches if label}


def _driver(text: str) -> HelmDriver:
    """As Helm reads it, but for the drivers that keep nothing in the cluster."""
    if text not in ("secret", "secrets", "configmap", "configmaps"):
        raise ValueError(text)
    return cast(HelmDriver, text.removesuffix("s"))


NAME = OptionType(
    "NAME", "the name of an object in Kubernetes: lowercase letters, digits, `-` and `.`", matching(_NAME)
)
MAYBE_NAME = OptionType("NAME", NAME.allowed, lambda text: NAME.parse(text) if text else "")
DIRECTORIES = OptionType("PATH:…", "paths with colons between them", _directories)
WORDS = OptionType("TEXT,…", "texts with commas between them", _names)
WHO = OptionType("NAME,…", f"some of {', '.join(EXTENDERS)}, each once, with commas between them", _extenders)
LABELS = OptionType("KEY=VALUE,…", "labels KEY=VALUE with commas between them", _labels)
DRIVER = OptionType("secret|configmap", "secret or configmap", _driver)


@dataclass(frozen=True, slots=True)
class ModulesSettings:
    """Where modules and global hooks are, what the user says of them in the cluster, and the bounds of their work.

    `directories` may be empty and `global_hooks` None; `default` says that no flag and no variable named the
    directories. Durations are seconds, `render_memory` bytes, 0 for no
    limit; `history_max` 0 keeps every revision.
    """

    directories: tuple[Path, ...] = setting(
        "modules-dir",
        DIRECTORIES,
        "modules, if there is something in it",
        "Modules: their directories; of two modules of one name the first counts. `:` means no directory.",
        _BOTH,
        compat=("", "modules"),
        found=lambda environ: _if_filled("modules", environ),
    )
    global_hooks: Path | None = setting(
        "global-hooks-dir",
        MAYBE_PATH,
        "global-hooks, if there is something in it",
        "Modules: directory of global hooks. Under --compat addon-operator SHELL_OPERATOR_HOOKS_DIR sets it too.",
        _BOTH,
        compat=("", "global-hooks"),
        found=lambda environ: _if_filled("global-hooks", environ),
    )
    config_map: str = setting(
        "config-map",
        NAME,
        "hookrunner",
        "Modules: the ConfigMap in our namespace that turns them on and has their values.",
        _ADDON,
        compat=("hookrunner", "addon-operator"),
    )
    config_secret: str = setting(
        "config-secret",
        MAYBE_NAME,
        "",
        "Modules: a Secret in our namespace with sections like the ConfigMap's, for values that not everybody is "
        "allowed to read; they win.",
    )
    config_grace: float = setting(
        "config-grace",
        DURATION,
        "30s",
        "Modules: how long the ConfigMap, or the Secret of --config-secret, may be missing before that counts, so "
        "that it can be replaced; with 0 a delete counts at once.",
    )
    unnumbered_order: int = setting(
        "unnumbered-modules-order", COUNT, "1", "Modules: weight of one whose directory has no number.", _BOTH
    )
    strict: bool = setting(
        "strict-check-values-mode-enabled",
        YES_NO,
        "false",
        "Modules: refuse to start where a directory of modules, or a module, has no `values.yaml`.",
        _BOTH,
    )
    extenders: tuple[str, ...] = setting(
        "applied-module-extenders",
        WHO,
        "",
        f"Modules: what decides whether one is on, each overrules those before it. Default: {', '.join(EXTENDERS)}.",
        _ADDON,
    )
    extra_labels: Mapping[str, str] = setting(
        "crd-extra-labels",
        LABELS,
        "heritage=hookrunner",
        "Modules: labels for every object of theirs and every CRD; a `heritage` is added if it is missing.",
        _ADDON,
        compat=("heritage=hookrunner", "heritage=addon-operator"),
    )
    crd_filters: tuple[str, ...] = setting(
        "crd-filters",
        WORDS,
        "doc-,_",
        "Modules: skip files in `crds/` whose names begin with one of these.",
        ("ADDON_OPERATOR_CRD_FILTER_PREFIXES",),
    )
    on_compiled: Literal["warn", "park"] = setting(
        "on-compiled-hooks",
        one_of("warn", "park"),
        "warn",
        "Modules: what to do about one with hooks that are compiled into addon-operator (Go files) and never run here: "
        "run it without them, or park it. With such global hooks all modules are parked.",
    )
    history_max: int = setting(
        "helm-history-max", COUNT, "10", "Releases: how many revisions are kept of each; 0 keeps all.", BARE
    )
    helm_timeout: float = setting(
        "helm-timeout", DURATION, "20m", "Releases: how long each Helm hook, and getting ready, may take.", BARE
    )
    ignored_releases: tuple[str, ...] = setting(
        "helm-ignore-release", WORDS, "", "Releases: those that are never purged.", BARE
    )
    helm_driver: HelmDriver = setting(
        "helm-driver", DRIVER, "secret", "Releases: the kind of object that their records are.", BARE
    )
    adopt_orphans: bool = setting(
        "adopt-orphaned-objects",
        YES_NO,
        "false",
        "Releases: take over objects whose release has no record any more, without `module adopt`; the log warns.",
        compat=("false", "true"),
    )
    patience: float = setting(
        "module-patience",
        DURATION,
        "30s",
        "Modules: how long those of a higher weight wait for one that runs; then they run beside it. Under "
        "--compat addon-operator also for one that has failed.",
    )
    concurrency: int = setting(
        "module-concurrency",
        COUNT_FROM_1,
        "4 for each CPU",
        "Modules: how many run at once, among those that need not wait for each other.",
        found=four_for_each_cpu,
    )
    enabled_timeout: float = setting(
        "enabled-timeout", DURATION, "30s", "Modules: how long an `enabled` script may take; 0 is no limit."
    )
    render_timeout: float = setting(
        "render-timeout", DURATION, "60s", "Modules: how long rendering one chart may take; 0 is no limit."
    )
    render_memory: int = setting("render-memory", SIZE, "512Mi", "Modules: memory of the process that renders charts.")
    default: bool = False

    @property
    def on(self) -> bool:
        """Is there anything to look after?"""
        return bool(self.directories or self.global_hooks)

    def under(self, compat: Compat | None) -> "ModulesSettings":
        """With the label `heritage`, which names the owner of an object, besides any other labels."""
        heritage = Compat.ADDON if compat is Compat.ADDON else "hookrunner"
        return replace(self, extra_labels={"heritage": str(heritage), **self.extra_labels})


def _dead(flag: str, text: str, env: tuple[str, ...] = _ADDON) -> Option:
    return Option(flag, TEXT, "", f"Ignored: {text}", env)


DEAD = (
    _dead("shell-chroot-dir", "hooks of modules run in the file system of the program."),
    _dead("helm-monitor-kube-client-qps", "objects of releases are watched, not asked for.", BARE),
    _dead("helm-monitor-kube-client-burst", "objects of releases are watched, not asked for.", BARE),
    _dead("admission-server-listen-port", "hooks declare webhooks; their port is --validating-webhook-listen-port."),
    _dead("admission-server-certs-dir", "hooks declare webhooks; see --webhook-certs."),
    _dead("admission-server-enabled", "hooks declare webhooks, which are served if there are any."),
    _dead("use-nelm", "there is one way to apply a release.", BARE),
)
"""Flags and variables of addon-operator that there is nothing for: accepted, with a warning."""

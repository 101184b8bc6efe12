"""The settings of addons: where they are, which are offered to whom, where their packages come from, and whether all
that are installed are listed.

Without --addons-dir there are no addons: each offered one creates a definition in the cluster, which no one asked for
by starting a hook runner.
"""

import re
from pathlib import Path
from typing import Literal

from hookrunner.options import DURATION, MAYBE_PATH, PATHS, SIZE, TEXT, YES_NO, OptionType, one_of, setting
from hookrunner.settings.modules import DIRECTORIES, MAYBE_NAME
from kubetypes.light_dataclasses import dataclass

Verification = Literal["off", "digest", "signature"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RESOURCE = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_REGISTRY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([-._]+[a-z0-9]+)*)*")
"""Source: https://github.com/distribution/reference/blob/main/reference.go"""


def _labels(text: str) -> tuple[str, ...]:
    names = tuple(part for part in text.split(",") if part)
    if not all(map(_LABEL.fullmatch, names)):
        raise ValueError(text)
    return names


def _registry(text: str) -> str:
    registry = text.rstrip("/")
    if registry and not _REGISTRY.fullmatch(registry):
        raise ValueError(text)
    return registry


def _prefixes(text: str) -> tuple[str, ...]:
    prefixes = tuple(part for part in text.split(",") if part)
    if any(not prefix.strip("/") or prefix != prefix.strip() for prefix in prefixes):
        raise ValueError(text)
    return prefixes


def _resources(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part for part in text.split(",") if part))
    if not all(map(_RESOURCE.fullmatch, names)):
        raise ValueError(text)
    return names


def _callers(text: str) -> tuple[str, ...]:
    callers = tuple(part for part in text.split(",") if part)
    if any(caller != caller.strip() or not caller.isprintable() for caller in callers):
        raise ValueError(text)
    return callers


CALLERS = OptionType(
    "USER_OR_GROUP,…", "names of users and groups with commas between them, as the API server knows them", _callers
)
PREFIXES = OptionType("PREFIX,…", "beginnings of locations with commas between them; `/` alone is none", _prefixes)
NAMES = OptionType("NAME,…", "names with commas between them: lowercase letters, digits and `-`, at most 63", _labels)
RESOURCES = OptionType(
    "RESOURCE,…",
    "names of resources as `kubectl api-resources -o name` prints them, with commas between them",
    _resources,
)
REGISTRY = OptionType("HOST[/PATH]", "a registry such as registry.example.com:5000/mirror, without a scheme", _registry)


@dataclass(frozen=True, slots=True)
class AddonsSettings:
    """Where addons and their packages are, and the bounds of fetching.

    Without `directories` there are no addons. Empty `names` and `namespaces` mean all. `source` and `mirrors` are as
    they are written (`packages/source_locations.py` and `packages/mirrors.py` read them). Durations are seconds, a
    `refresh` of 0 is never; sizes are bytes, 0 is no limit.
    """

    directories: tuple[Path, ...] = setting(
        "addons-dir",
        DIRECTORIES,
        "",
        "Addons: their directories; of two addons of one name or kind the first counts. Each creates a definition "
        "(CRD).",
    )
    names: tuple[str, ...] = setting(
        "addons",
        NAMES,
        "",
        "Addons: those that are offered: their kinds are defined and their objects reconciled. Without it all. "
        "Objects of the others stay as they are.",
    )
    namespaces: tuple[str, ...] = setting(
        "addon-namespaces", NAMES, "", "Addons: namespaces in which objects are reconciled. Without it all."
    )
    source: str = setting(
        "addon-source",
        TEXT,
        "",
        "Addons: where channels and packages are: LOCATION for all addons, or NAME=LOCATION,… for some. Default: "
        "`source` in addon.yaml.",
    )
    mirrors: str = setting(
        "addon-mirror",
        TEXT,
        "",
        "Addons: FROM=TO,…: locations that begin with FROM are looked for in TO, such as "
        "`https://example.com=file:/srv/mirror`. The longest FROM counts.",
    )
    generic_sources: tuple[str, ...] = setting(
        "addon-generic-sources",
        PREFIXES,
        "",
        "Addons: beginnings of locations that objects of the kind Generic may name as `spec.channel`; each makes "
        "another kind an addon. Without it Generic is not defined.",
    )
    refresh: float = setting(
        "addon-refresh",
        DURATION,
        "10m",
        "Addons: how often sources and the cluster's version are checked; 0 is never, except for the version "
        "after each loss of the API server.",
    )
    fetch_timeout: float = setting(
        "addon-fetch-timeout", DURATION, "60s", "Addons: how long fetching a package may take; 0 is no limit."
    )
    credentials: str = setting(
        "addon-credentials",
        TEXT,
        "",
        "Addons: logins for registries and other servers of packages: FILE, or secret:NAMESPACE/NAME, in the format of "
        "Docker's config.json.",
    )
    cache_directory: Path | None = setting(
        "addon-cache-dir",
        MAYBE_PATH,
        "",
        "Addons: where fetched packages are kept; without it `packages` in the `--tmp-dir`.",
    )
    cache_size: int = setting(
        "addon-cache-size", SIZE, "512Mi", "Addons: how large that may become, besides packages in use."
    )
    verify: Verification = setting(
        "addon-verify",
        one_of("off", "digest", "signature"),
        "digest",
        "Addons: what a package from a remote source needs: nothing, or a digest in `SHA256SUMS` or in the channel. "
        "With `signature` one of the --addon-keys must have signed each channel and package, wherever it lies, except "
        "in the directories of addons.",
    )
    keys: tuple[Path, ...] = setting(
        "addon-keys",
        PATHS,
        "",
        "Addons: files with the public keys for --addon-verify signature, Ed25519 or ECDSA P-256, in PEM, one in each.",
    )
    patches: Literal["all", "listed", "none"] = setting(
        "addon-patches",
        one_of("all", "listed", "none"),
        "listed",
        "Addons: what `spec.patches` of instances may change: everything that is installed, with hookrunner's "
        "rights or those of `spec.serviceAccountName`; what `patches` in addon.yaml lists; or nothing.",
    )
    accounts: Literal["allow", "require"] = setting(
        "addon-accounts",
        one_of("allow", "require"),
        "allow",
        "Addons: with `require`, only objects are reconciled that name a ServiceAccount of their namespace as "
        "`spec.serviceAccountName`. What they install is then written with its rights, never with hookrunner's.",
    )
    protect_except: tuple[str, ...] = setting(
        "addon-protect-except",
        CALLERS,
        "",
        "Addons: users and groups that may change and delete the objects of instances with `spec.protect`, such as "
        "`system:serviceaccount:argocd:argocd-application-controller`.",
    )
    private_registry: str = setting(
        "private-registry", REGISTRY, "", "Addons: the registry that images are pulled from, instead of theirs."
    )
    image_pull_secret: str = setting(
        "image-pull-secret", MAYBE_NAME, "", "Addons: the Secret with which images are pulled."
    )

    @property
    def on(self) -> bool:
        """Is there anything to offer?"""
        return bool(self.directories or self.generic_sources)


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """The list of addons that are installed, as objects of the kind `Addon`. `kinds` are resources."""

    on: bool = setting(
        "discovery",
        YES_NO,
        "false",
        "Addons: list all that is installed, with its health, for `kubectl get addons`. Creates a definition (CRD).",
    )
    kinds: tuple[str, ...] = setting(
        "discovery-kinds",
        RESOURCES,
        "",
        "Addons: resources whose objects `--discovery` also lists if they have the label "
        "`discovery.addons.k8s.io/NAME`, such as `deployments.apps,daemonsets.apps`. All their objects are watched.",
    )

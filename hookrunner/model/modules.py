"""Modules as nouns: the content of a directory, the decision about it, and its phase (see docs/modules.md).

At the end: names of modules (`cert-manager`) and their keys in values (`certManager`), each made from the other. The
rules are those of addon-operator, so that its ConfigMaps and values files keep their keys. Names that do not survive
the way there and back are refused by their readers.
"""

import re
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from hookrunner.model.units import MODULE, Drift, Unit
from kubetypes.light_dataclasses import dataclass

GLOBAL = "global"
"""The section that every module sees, and the name under which global hooks count as a module."""

ENABLED = "Enabled"
"""What a key ends with that switches a module on or off."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What `module.yaml` says, with every default filled in. `modules` maps a required module to a
    version range, empty for any; `kubernetes` is a version range. `namespace` "" is the operator's own.
    `drift` is `missing` by default: deleted objects come back, changed fields are left alone.
    """

    description: str = ""
    version: str = ""
    critical: bool = True
    gate: bool = False
    modules: tuple[tuple[str, str], ...] = ()
    kubernetes: str = ""
    namespace: str = ""
    adopt: bool = False
    wait: bool = False
    rollback_on_failure: bool = False
    drift: Drift = "missing"


@dataclass(frozen=True, slots=True)
class Module:
    """One module's directory. `key` is its name in values (camelCase), `directory` where its files are (a link is
    followed), `source` the modules directory that it was found in. `chart` says that it has templates to install,
    `script` where its `enabled` script is, `compiled` its hooks that are compiled into addon-operator and so never run
    here, `problem` why it cannot be loaded, empty if it can."""

    name: str
    key: str
    weight: int
    directory: Path
    source: Path
    chart: bool = False
    script: Path | None = None
    traits: Traits = field(default_factory=Traits)
    problem: str = ""
    compiled: tuple[str, ...] = ()

    @property
    def unit(self) -> Unit:
        """The module as convergence reconciles it."""
        traits = self.traits
        return Unit(
            self.name,
            self.key,
            self.key,
            self.directory,
            MODULE,
            installs=self.chart,
            namespace=traits.namespace,
            drift=traits.drift,
            compiled=self.compiled,
            has_script=self.script is not None,
        )


class Choice(StrEnum):
    """Whether a module is to run. Undecided: it stays as it is, neither run with other values nor deleted."""

    ON = "on"
    OFF = "off"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice, what made it (`Static`, `DynamicallyEnabled`, `KubeConfig`, `ScriptEnabled`, `Requires`, "" for
    nothing) and, in words for a person, why."""

    choice: Choice
    by: str = ""
    reason: str = ""


class Phase(StrEnum):
    """How far a module has come. A retry continues from the phase that it has reached."""

    STARTUP = "Startup"
    ON_STARTUP_DONE = "OnStartupDone"
    QUEUE_SYNCHRONIZATION_TASKS = "QueueSynchronizationTasks"
    WAIT_FOR_SYNCHRONIZATION = "WaitForSynchronization"
    ENABLE_SCHEDULE_BINDINGS = "EnableScheduleBindings"
    CAN_RUN_HELM = "CanRunHelm"
    READY = "Ready"
    HOOKS_DISABLED = "HooksDisabled"


_DELIMITER = re.compile(r"[-_\s]|(?<!\d)\.|\.(?!\d)")
"""What stands between words and is dropped. The point of a number stays: `v1.2`."""

_STARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[^\da-z.])")
"""Where a word begins without a delimiter: `fooBar`, `FOOBar`, after a number."""


def _words(name: str) -> list[str]:
    """The words of a name in any spelling, in lower case."""
    return [word.lower() for part in _DELIMITER.split(name) for word in _STARTS.split(part) if word]


def camel(name: str) -> str:
    """`l2-load-balancer` → `l2LoadBalancer`: the key of a module in values."""
    first, *rest = _words(name) or [""]
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def kebab(name: str) -> str:
    """`l2LoadBalancer` → `l2-load-balancer`: the name of the module that a key belongs to."""
    return "-".join(_words(name))

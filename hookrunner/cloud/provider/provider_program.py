"""The cloud's program: which file it is, what it gets to see of our environment, whether it can be started.

Its environment is an allow-list: no token, no kubeconfig, none of our settings. Secrets come as files, or as variables
that `--cloud-env` names; those are masked in all that it prints and answers.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from hookrunner import redaction, safe_files
from hookrunner.errors import StartRefused
from hookrunner.process.child import Command
from hookrunner.process.spawn import FileFingerprint, fingerprint, why_not_startable
from hookrunner.settings import Settings
from hookrunner.settings.cloud import CloudSettings
from kubetypes.light_dataclasses import dataclass

KILL_AFTER = 2.0
"""Seconds from SIGTERM to SIGKILL."""
CALL_TIMEOUT = 60.0
"""Seconds of a call, unless the provider has `limits.timeoutSeconds`."""
_PASSED = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_PASSED_IN_BOTH_CASES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_COLOR = re.compile(r"(\x1b\[[0-9;]*[A-Za-z])")
_LONG = 16
"""Characters of a secret that is masked wherever it stands. A shorter one may be a part of an unrelated word."""
ALLOWED = (*_PASSED, *_PASSED_IN_BOTH_CASES, *map(str.lower, _PASSED_IN_BOTH_CASES))
"""The variables that a provider gets as far as they are set."""


@dataclass(frozen=True, slots=True)
class ProviderProgram:
    """The executable (an absolute path) and its whole environment. `hidden`: words that are masked in what it says;
    `timeout`: seconds of a call that has no limit of its own."""

    executable: Path
    environment: Mapping[str, str]
    hidden: frozenset[str] = frozenset()
    timeout: float = CALL_TIMEOUT
    cluster: str = "kubernetes"

    @property
    def name(self) -> str:
        """For logs and messages."""
        return self.executable.name

    def masked(self, text: str) -> str:
        """The text without the secrets of its environment; long ones are masked also inside of words."""
        for word in sorted(self.hidden, key=len, reverse=True):
            if len(word) >= _LONG:
                text = text.replace(word, redaction.MASK)
        parts = _COLOR.split(text)  # the code of a colour ends with a letter, which would be one of the word behind it
        parts[::2] = [redaction.masked(part, self.hidden) for part in parts[::2]]
        return "".join(parts)

    def fingerprint(self) -> FileFingerprint | None:
        """What changes when the file does; None if it is not there."""
        return fingerprint(self.executable)


def provider_command(
    executable: Path, environment: Mapping[str, str], argument: str, stdin: bytes | int, timeout: float | None = None
) -> Command:
    """A run of the program in its own directory. Its standard error is not kept, and what it leaves behind in its group
    is killed. `stdin` and `timeout` as in `Command`."""
    return Command(
        argv=(str(executable), argument),
        cwd=executable.parent,
        env=environment,
        timeout=timeout,
        keep_stderr=0,
        kill_after=KILL_AFTER,
        stdin=stdin,
        leaves_nothing=True,
    )


def select_variables(
    inherited: Mapping[str, str], names: Iterable[str] = (), config: Path | None = None
) -> dict[str, str]:
    """The whole environment of the program: what it inherits, `names` of `--cloud-env`, and `config`, the absolute path
    of `--cloud-config`. A name that is not set is left out."""
    known = {name: inherited[name] for name in (*ALLOWED, *names) if name in inherited}
    return known | ({"CLOUD_CONFIG": str(config)} if config else {})


def hidden_words(inherited: Mapping[str, str], names: Iterable[str]) -> frozenset[str]:
    """The values of what `--cloud-env` names, and of proxies with a password, as they may stand in a message."""
    proxies = [name for name in ALLOWED if "proxy" in name.lower() and "@" in inherited.get(name, "")]
    return redaction.words({"variables": {name: inherited[name] for name in (*names, *proxies) if name in inherited}})


def find_program(settings: Settings) -> ProviderProgram:
    """The program that --cloud-provider names. Raises StartRefused if it is missing or cannot be started."""
    cloud = settings.cloud
    executable = _executable(cloud)
    require_startable(executable)
    environ, names = settings.hooks.environ, cloud.environment
    variables, hidden = select_variables(environ, names, cloud.config), hidden_words(environ, names)
    return ProviderProgram(executable, variables, hidden, cloud.call_timeout, cloud.cluster_name)


def _executable(cloud: CloudSettings) -> Path:
    """A name without a slash is that of a file in the providers directory. Raises StartRefused without such a file."""
    if "/" in cloud.provider:
        return Path(cloud.provider).absolute()
    path = cloud.providers_directory / cloud.provider
    if safe_files.may_exist(path):
        return path
    is_here = Path(cloud.provider).exists()
    hint = f"for the file here give ./{cloud.provider}" if is_here else "give its path, or its directory"
    raise StartRefused(
        f"--cloud-provider {cloud.provider}: there is no such provider in {cloud.providers_directory} "
        f"(--providers-dir); {hint}"
    )


def require_startable(executable: Path) -> None:
    """Raises StartRefused with what is wrong with the file and what to do: missing, a directory, not executable, a
    first line that names no interpreter."""
    if reason := why_not_startable(executable):
        raise StartRefused(f"--cloud-provider {executable}: {reason}")

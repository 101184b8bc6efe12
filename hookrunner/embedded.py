"""Runs the sandbox as the settings say: checks them, serves it, writes its kubeconfig, prints its address.

For `hookrunner sandbox`, which serves nothing else, and for `start --sandbox`, which then uses it like any cluster.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

import yaml

from hookrunner.errors import BadConfig, BadSetting, StartRefused
from hookrunner.safe_files import replace_file, require_temp_directory
from hookrunner.settings import SandboxSettings
from kubesandbox.errors import BadFile, BadOptions
from kubesandbox.options import check, with_https
from kubesandbox.sandbox import Options, Sandbox, serving

_ANSWER = 2.0
"""Seconds within which a server of this machine takes a connection, if it runs."""


@asynccontextmanager
async def serve_sandbox(settings: SandboxSettings, tmp_dir: Path) -> AsyncIterator[Sandbox]:
    """A sandbox that serves inside the `with`; its kubeconfig is written and printed. Raises BadSetting, BadConfig for
    seeds, StartRefused."""
    if not settings.kubeconfig:
        require_temp_directory(tmp_dir)
    async with AsyncExitStack() as stack:
        try:
            sandbox = await stack.enter_async_context(serving(_options(settings)))
        except BadFile as error:
            raise BadConfig(str(error)) from error
        except OSError as error:
            raise StartRefused(
                f"the sandbox cannot be served on {settings.address}:{settings.port}: {error.strerror or error}; "
                "choose another place with --sandbox-port"
            ) from error
        kubeconfig = settings.kubeconfig or await _choose_kubeconfig(tmp_dir, sandbox, stack)
        try:
            write_kubeconfig(kubeconfig, sandbox)
        except OSError as error:
            raise StartRefused(
                f"the kubeconfig {kubeconfig} cannot be written: {error.strerror or error}; "
                "choose another place with --sandbox-kubeconfig"
            ) from error
        _tell(sandbox, settings, kubeconfig)
        yield sandbox


async def _choose_kubeconfig(tmp_dir: Path, sandbox: Sandbox, stack: AsyncExitStack) -> Path:
    """`sandbox.kubeconfig`, unless the sandbox that it leads to still runs: its users would be on this one. Then a file
    with the port in its name, which `stack` removes."""
    usual = tmp_dir / "sandbox.kubeconfig"
    if not await _has_living_server(usual):
        return usual
    own = tmp_dir / f"sandbox-{urlsplit(sandbox.url).port}.kubeconfig"
    print(f"sandbox: {usual} leads to another sandbox that runs; the kubeconfig of this one is {own}", file=sys.stderr)
    stack.callback(own.unlink, missing_ok=True)
    return own


async def _has_living_server(kubeconfig: Path) -> bool:
    """Whether something listens where this kubeconfig leads. False for a file that is missing or is no kubeconfig."""
    try:
        url = urlsplit(yaml.safe_load(kubeconfig.read_bytes())["clusters"][0]["cluster"]["server"])
        async with asyncio.timeout(_ANSWER):
            _, writer = await asyncio.open_connection(url.hostname, url.port)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
        return False
    writer.close()
    return True


def write_kubeconfig(path: Path, sandbox: Sandbox) -> None:
    """Write it whole or not at all, for the owner's eyes only. A directory of the user's choice is made if it is
    missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, sandbox.kubeconfig().encode())


def _options(settings: SandboxSettings) -> Options:
    options = Options(
        address=settings.address,
        port=settings.port,
        token=settings.token,
        certificate=settings.certificate,
        key=settings.key,
        seed=settings.seed,
        data=settings.data,
        simulate=settings.simulate,
    )
    options = with_https(options)
    try:
        check(options, "sandbox-")
    except BadOptions as error:
        raise BadSetting(str(error)) from error
    return options


def _tell(sandbox: Sandbox, settings: SandboxSettings, kubeconfig: Path) -> None:
    """The one line on standard output that a shell can run; what a person wants to know goes to standard error."""
    who = "clients with the token in its kubeconfig" if sandbox.access.token else "every user of this machine"
    print(
        f"sandbox: a Kubernetes API at {sandbox.url}, for {who}; objects are kept in "
        f"{settings.data or 'memory'}. In another terminal:",
        file=sys.stderr,
    )
    print(f"export KUBECONFIG={quote(str(kubeconfig))}", flush=True)

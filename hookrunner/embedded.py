"""Runs the sandbox as the settings say: checks them, serves it, writes its kubeconfig, prints its address.

For `hookrunner sandbox`, which serves nothing else, and for `start --sandbox`, which then uses it like any cluster.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from shlex import quote

from hookrunner.errors import BadConfig, BadSetting, StartRefused
from hookrunner.safe_files import replace_file, require_directory
from hookrunner.settings import SandboxSettings
from kubesandbox.errors import BadFile, BadOptions
from kubesandbox.options import check
from kubesandbox.sandbox import Options, Sandbox, serving


@asynccontextmanager
async def serve_sandbox(settings: SandboxSettings, tmp_dir: Path) -> AsyncIterator[Sandbox]:
    """A sandbox that serves inside the `with`; its kubeconfig is written and printed. Raises BadSetting, BadConfig for
    seeds, StartRefused."""
    kubeconfig = settings.kubeconfig or tmp_dir / "sandbox.kubeconfig"
    if not settings.kubeconfig:
        require_directory(tmp_dir, "--tmp-dir")
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
        try:
            write_kubeconfig(kubeconfig, sandbox)
        except OSError as error:
            raise StartRefused(
                f"the kubeconfig {kubeconfig} cannot be written: {error.strerror or error}; "
                "choose another place with --sandbox-kubeconfig"
            ) from error
        _tell(sandbox, settings, kubeconfig)
        yield sandbox


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
    try:
        check(options, "sandbox-")
    except BadOptions as error:
        raise BadSetting(str(error)) from error
    return options


def _tell(sandbox: Sandbox, settings: SandboxSettings, kubeconfig: Path) -> None:
    """The one line on standard output that a shell can run; what a person wants to know goes to standard error."""
    who = "every client with the token" if settings.token else "only this machine"
    print(
        f"sandbox: a Kubernetes API at {sandbox.url}, for {who}; objects are kept in "
        f"{settings.data or 'memory'}. In another terminal:",
        file=sys.stderr,
    )
    print(f"export KUBECONFIG={quote(str(kubeconfig))}", flush=True)

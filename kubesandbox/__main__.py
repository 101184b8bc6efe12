"""`python -m kubesandbox`: a sandbox until Ctrl-C. Its kubeconfig, with the token, is printed on standard output."""

import asyncio
import logging
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from kubesandbox.errors import BadOptions, SandboxError
from kubesandbox.options import Options, check, with_https
from kubesandbox.sandbox import serving


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 2 for options that do not fit together, 1 for files and ports that cannot be used."""
    parser = _parser()
    options = _options(parser.parse_args(arguments))
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    try:
        check(options)
        asyncio.run(_serve(options))
    except BadOptions as error:
        parser.error(str(error))
    except (SandboxError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


async def _serve(options: Options) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(options) as sandbox:
        print(sandbox.kubeconfig(), end="", flush=True)
        print(f"a Kubernetes API at {sandbox.url}; its kubeconfig is on standard output", file=sys.stderr)
        await stop.wait()


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m kubesandbox", description=__doc__)
    parser.add_argument("--address", default="127.0.0.1", help="one that is not loopback needs TLS and a token")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--token", default="random", help="a token that every request must carry; `none` for no token")
    parser.add_argument("--tls-cert", type=Path, help="certificate to serve HTTPS with")
    parser.add_argument("--tls-key", type=Path, help="the key of that certificate")
    parser.add_argument("--seed", type=Path, action="append", default=[], help="manifests; may be repeated")
    parser.add_argument("--data", type=Path, help="a file in which all objects survive a restart")
    parser.add_argument("--simulate", action="store_true", help="Pods run and become Ready")
    return parser


def _options(given: Namespace) -> Options:
    options = Options(
        address=given.address,
        port=given.port,
        token={"random": None, "none": ""}.get(given.token, given.token),
        certificate=given.tls_cert,
        key=given.tls_key,
        seed=given.seed,
        data=given.data,
        simulate=given.simulate,
    )
    return with_https(options)


if __name__ == "__main__":
    sys.exit(main())

"""`hookrunner sandbox`: the embedded Kubernetes API alone, until Ctrl-C.

Apart from `start.py`, which must not load asyncio before the child that looks for the cluster has begun.
"""

import asyncio
import signal
import sys

import click

from hookrunner import settings
from hookrunner.cli.start import click_option, given
from hookrunner.options import options_of
from hookrunner.settings import SandboxSettings, Settings

PREFIX = "sandbox-"


class _Sandbox(click.Command):
    """Reads the settings and serves."""

    def invoke(self, ctx: click.Context) -> int:
        return asyncio.run(_serve_sandbox(settings.load(given(ctx), ctx.find_root().info_name or "")))


async def _serve_sandbox(loaded: Settings) -> int:
    # 0.2 s, and `--help` needs none of it.
    from hookrunner import log
    from hookrunner.embedded import serve_sandbox

    log.configure(loaded.log.type, loaded.log.level, sys.stderr)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with serve_sandbox(loaded.sandbox, loaded.hooks.tmp_dir):
        await stopping.wait()
    log.flush(1.0)
    return 0


def _short_names(flag: str) -> tuple[str, ...]:
    """Here the flags go without their prefix too; `--listen-port` is the port's name as everywhere."""
    short = flag.removeprefix(PREFIX)
    return (short, *(("listen-port",) if short == "port" else ())) if short != flag else ()


sandbox = _Sandbox(
    "sandbox",
    params=[
        click_option(option, _short_names(option.flag))
        for option in options_of(SandboxSettings).values()
        if option.flag != "sandbox"
    ],
    help="""Serve a Kubernetes API from this process: no cluster needed.

    \b
    hookrunner sandbox                                   prints `export KUBECONFIG=…` when it is ready
    hookrunner sandbox --seed docs/demo.yaml --simulate  objects from the beginning, Pods that run
    hookrunner sandbox --data cluster.db                 keep the objects for the next time

    It is a real HTTP API: kubectl, helm and client libraries work on it. What it does not do, it refuses;
    docs/sandbox.md lists that. Without --sandbox-address it can be reached from this machine only.""",
)

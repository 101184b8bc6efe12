"""`hookrunner cloud start`: the loops of the cloud alone, without hooks and modules; and the flags that `rbac` shares
with it."""

import click

from hookrunner import settings
from hookrunner.cli.start import click_option, given, run_application
from hookrunner.errors import BadSetting
from hookrunner.options import Option
from hookrunner.settings import Settings

_ALIASES = {"kube-config": ("kubeconfig",)}
"""Upstream's names of flags that have another one here."""


def cloud_flag(option: Option) -> click.Option:
    """The flag of a setting under its own name and upstream's. Those of upstream that do nothing are not in the
    help."""
    flag = click_option(option, _ALIASES.get(option.flag, ()))
    flag.hidden = flag.hidden or option.text.startswith("Ignored: ")
    if len(option.flag) == 1:
        flag.opts.append(f"-{option.flag}")
    return flag


def read_cloud_settings(ctx: click.Context) -> Settings:
    """What the flags of a command and the variables say, of the cloud alone. Raises BadSetting."""
    loaded = settings.load(given(ctx), ctx.find_root().info_name or "")
    return settings.cloud_alone(loaded)


class _CloudStart(click.Command):
    """Reads the settings and runs the application; its exit code is the process's."""

    def invoke(self, ctx: click.Context) -> int:
        loaded = read_cloud_settings(ctx)
        if not loaded.cloud.on:
            raise BadSetting(
                "--cloud-provider: it is missing; give the path of a provider such as ./my-cloud, or its name in "
                "--providers-dir (`hookrunner new provider my-cloud` writes one)"
            )
        return run_application(loaded, given(ctx))


cloud_start = _CloudStart(
    "start",
    params=[cloud_flag(option) for option in settings.cloud_options()],
    help="""Run the loops of a cloud controller manager, with a provider as its cloud.

    \b
    hookrunner cloud start --sandbox --seed docs/cloud-demo.yaml --cloud-provider simcloud   no cluster, no cloud
    hookrunner cloud start --cloud-provider ./my-cloud                  your cloud, the cluster of ~/.kube/config
    hookrunner cloud start --cloud-provider ./my-cloud --controllers cloud-node,service      some of the loops
    hookrunner cloud start --cloud-provider ./my-cloud --node-delete-dry-run                 delete no Node

    `hookrunner start --cloud-provider …` runs them beside hooks and modules. Flags of upstream's manager are accepted;
    those that have no meaning here warn. It ends with 0 when it was stopped (SIGTERM, Ctrl-C), with 1 when it could not
    start, with 2 for a bad flag or variable.""",
)

"""The command `hookrunner`: finds the sub-command, runs it, and turns every end into an exit code.

Exit codes: 0 stopped as asked, 1 refused or failed (the message says what, where, what to do), 2 bad usage, 3 from
`status` if something needs the user; 130 when Ctrl-C ended another command than `start`. A sub-command's file is
imported when it is called, so that `hookrunner --help` and the debug commands start fast.
"""

import importlib
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from keyword import iskeyword
from pathlib import PurePath
from typing import Any

import click

from hookrunner import __version__
from hookrunner.cli.output import echo, show_error
from hookrunner.errors import BadInput, BadSetting, HookrunnerError
from hookrunner.options import PREDECESSORS


class LazyGroup(click.Group):
    """A group of commands that imports a command's file when it is called, so that the others start fast.

    `table` has for each command its file in this room, and its line in the help: the first sentences of commands are
    longer, and to read them from there would take `hookrunner --help` 0.4 s of CPU time more, for imports. In the file
    a command is called `prefix` and its name, with `_` for `-`, and one behind a word of Python.
    """

    def __init__(self, *, table: Mapping[str, tuple[str, str]], prefix: str = "", **more: Any) -> None:
        super().__init__(**more)
        self.table, self.prefix = table, prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        name = self.prefix + cmd_name.replace("-", "_")
        file = importlib.import_module(f"hookrunner.cli.{self.table[cmd_name][0]}")
        command = getattr(file, name + "_" * iskeyword(name))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown one, as click does for options."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = " or ".join(f"'{command}'" for command in self.commands_like(args[0]))
            raise click.UsageError(error.message + (f" Did you mean {near}?" if near else ""), error.ctx) from None

    def commands_like(self, word: str) -> list[str]:
        """The commands that an unknown one may mean."""
        return get_close_matches(word, self.table, 1)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])


_HOOK_COMMANDS = {
    "lint": ("checks.lint_commands", "Check hooks: files, or directories of them."),
    "config": ("hooks.hook_tools", "Show what hooks declare, with every default."),
    "run": ("hooks.hook_tools", "Run a hook on a made-up event and show what it asks for."),
    "test": ("checks.test_commands", "Run test cases of hooks."),
    "list": ("debug", "Name all hooks that a running hookrunner has loaded."),
    "snapshot": ("debug", "Show the snapshots of a hook that runs."),
}
"""The tools first, in the order in which an author needs them."""


@click.group(cls=LazyGroup, prefix="hook_", table=_HOOK_COMMANDS)
def hook() -> None:
    """Write, check and test hooks without a cluster; look at those that run.

    \b
    hookrunner new hook copy                                        begin with one that works
    hookrunner hook run hooks/copy.sh --event Added --object s.yaml  see what it does
    hookrunner hook test hooks                                      run the test cases beside the hooks
    """


_MODULE_COMMANDS = {
    "list": ("modules.module_commands", "Show modules: what is on, how far it is, and why."),
    "values": ("unit_commands", "Show a module's values, and which layer has set each."),
    "config": ("unit_commands", "Show what users have set of a module's values."),
    "render": ("unit_releases", "Show a module's manifests, or how they differ from the cluster."),
    "graph": ("modules.module_commands", "Show which module waits for which."),
    "rollback": ("unit_releases", "Bring an earlier revision of a module's release back."),
    "adopt": ("modules.module_commands", "Have a module take over objects that no release looks after."),
    "patches": ("unit_commands", "Show how hooks have patched a module's values in memory."),
    "snapshots": ("unit_commands", "Show the snapshots of a module's hooks."),
    "resource-monitor": ("modules.module_commands", "Show which objects of releases are watched."),
    "lint": ("checks.lint_commands", "Check modules: files, schemas, values, hooks, charts."),
    "test": ("checks.test_commands", "Run test cases of modules and of their hooks."),
}
"""A look at modules first, then the tools for authors."""


@click.group(cls=LazyGroup, prefix="module_", table=_MODULE_COMMANDS)
def module() -> None:
    """See the modules of a running hookrunner; write, check and test them.

    \b
    hookrunner module list                                        what is on, how far it is, and why
    hookrunner module values dns --explain                        who has set which value
    hookrunner module render dns --diff                           what the next run would change in the cluster
    hookrunner module render dns --modules-dir modules            no cluster, nothing running: files alone
    hookrunner new module dns && hookrunner module test modules   begin with one that works

    A running hookrunner is asked over its debug socket; with --modules-dir the files in a directory are.
    """


_ADDON_COMMANDS = {
    "list": ("addons.addon_list", "Show instances: version, phase, and what is wrong; or addons."),
    "values": ("unit_commands", "Show an instance's values, and which layer has set each."),
    "config": ("unit_commands", "Show what the author of an instance has set."),
    "render": ("unit_releases", "Print an instance's objects, or how they would change."),
    "rollback": ("unit_releases", "Bring an earlier revision of an instance back."),
    "objects": ("addons.addon_list", "Show an instance's objects, each with its health."),
    "patches": ("unit_commands", "Show how hooks have patched an instance's values in memory."),
    "snapshots": ("unit_commands", "Show the snapshots of an instance's hooks."),
    "versions": ("addons.addon_list", "Show an addon's versions and channels."),
    "crd": ("addons.addon_offline", "Print the definitions of the addons' kinds."),
    "abandon": ("addons.addon_abandon", "Stop managing an instance, and keep what it installed."),
    "lint": ("checks.lint_commands", "Check addons: files, schemas, hooks, channels, packages."),
    "test": ("checks.test_commands", "Run test cases of addons and of their hooks."),
    "images": ("addons.addon_images", "List the images that instances need."),
    "mirror": ("addons.addon_mirror", "Copy packages and channels, for a place without internet."),
    "seal": ("addons.addon_seal", "Write checksums and signatures of packages and channels."),
}
"""A look at addons first, then the tools for authors."""


@click.group(cls=LazyGroup, prefix="addon_", table=_ADDON_COMMANDS)
def addon() -> None:
    """See addons and their instances; write, check and test addons.

    \b
    hookrunner addon list                                                     what is installed, and how it is
    hookrunner addon values coredns/default --explain                         who has set which value
    hookrunner addon render coredns/default --diff                            what the next run would change
    hookrunner addon render addons/coredns/example.yaml --addons-dir addons   what would be installed: files alone
    hookrunner new addon web && hookrunner addon test addons                  begin with one that works

    A running hookrunner is asked over its debug socket; with --addons-dir the files in a directory are. `abandon` talks
    to the cluster itself.
    """


_CLOUD_COMMANDS = {
    "start": ("cloud.cloud_start", "Run the loops, with a provider as the cloud."),
    "status": ("cloud.cloud_views", "Show what holds Nodes, Services and deletions up."),
    "release": ("cloud.cloud_views", "Let held deletions of Nodes go on."),
    "orphans": ("cloud.cloud_views", "Show load balancers that belong to no Service."),
    "rbac": ("cloud.cloud_rights", "Print the rights that the loops need."),
    "check": ("cloud.cloud_check", "Try every rule on a provider, and list those that it breaks."),
    "call": ("cloud.cloud_call", "Ask a provider one question, and show its answer."),
    "clean": ("cloud.cloud_clean", "Delete all load balancers, before an uninstallation."),
    "adopt": ("cloud.cloud_adopt", "Have Nodes initialised that joined without the flag for it."),
}
"""Running it first, then what its owner looks at."""


@click.group(cls=LazyGroup, prefix="cloud_", table=_CLOUD_COMMANDS)
def cloud() -> None:
    """Run a cloud controller manager whose cloud is an executable.

    \b
    hookrunner cloud start --sandbox --seed docs/cloud-demo.yaml --cloud-provider simcloud   no cluster, no cloud
    hookrunner new provider my-cloud && hookrunner cloud check ./my-cloud                    begin with one that works
    hookrunner cloud start --cloud-provider ./my-cloud                                       your cloud
    hookrunner cloud status                                                                  what it waits for, and why
    """


COMMANDS = {
    "start": ("start", "Find hooks and run them when things happen."),
    "sandbox": ("sandbox", "Serve a Kubernetes API from this process: no cluster needed."),
    "status": ("status", "Show whether hookrunner is ready, and what needs you."),
    "queue": ("debug", "Look at the queues of a running hookrunner."),
    "hook": ("main", hook.get_short_help_str(80)),
    "module": ("main", module.get_short_help_str(80)),
    "addon": ("main", addon.get_short_help_str(80)),
    "cloud": ("main", cloud.get_short_help_str(80)),
    "global": ("unit_commands", "Look at the values that all modules share, and at global hooks."),
    "new": ("new", "Begin with something that works."),
    "rbac": ("rights", "Print the rights that hooks, modules and addons need."),
    "webhooks": ("webhooks", "See and remove what hookrunner has registered in a cluster."),
    "config": ("debug", "Read and set what can be changed while hookrunner runs."),
    "debug": ("debug", "See where a running hookrunner is at the moment."),
    "raw": ("debug", "Fetch any PATH of the debug endpoint."),
    "shell-lib": ("about", "Print the path of the shell framework for hooks."),
    "completion": ("about", "Print the completion script for a shell."),
    "debug-options": ("about", "List the flags that `start --help` leaves out."),
    "version": ("about", "Print the version, and which jq it carries."),
}
"""Each command's file in this room and its line in the help."""


class Commands(LazyGroup):
    """All commands and groups."""

    def commands_like(self, word: str) -> list[str]:
        """The same, where `lint` without its group is `hook lint` and its neighbours."""
        groups = {
            "hook": _HOOK_COMMANDS,
            "module": _MODULE_COMMANDS,
            "addon": _ADDON_COMMANDS,
            "cloud": _CLOUD_COMMANDS,
        }
        below = [f"{name} {word}" for name, group in groups.items() if word in group]
        return below or super().commands_like(word)


class _NoColor(click.Option):
    """A flag whose variable counts with any text (https://no-color.org); click would read it as true or false."""

    def value_from_envvar(self, ctx: click.Context) -> str | None:
        return "true" if self.resolve_envvar_value(ctx) else None


@click.group(cls=Commands, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--no-color", cls=_NoColor, is_flag=True, envvar="NO_COLOR", help="No colours.")
@click.pass_context
def cli(ctx: click.Context, no_color: bool) -> None:
    """Run executables (hooks) when something happens in a Kubernetes cluster.

    \b
    hookrunner start --sandbox             run the hooks below ./hooks on a cluster in this process
    hookrunner start --hooks-dir hooks     run them on your cluster
    hookrunner status                      see whether it is ready, and what needs you
    hookrunner queue list                  see what waits
    hookrunner start --help                all settings
    """
    if no_color:
        ctx.color = False


def main() -> None:
    """Run the command line of this process and end it."""
    program = PurePath(sys.argv[0]).name
    arguments = sys.argv[1:]
    if program in PREDECESSORS and not arguments:
        arguments = ["start"]
    sys.exit(run(arguments, "hookrunner" if program == "__main__.py" else program))


def run(arguments: list[str], program: str) -> int:
    """Run one command line and return its exit code. `program` is the name that we were started under."""
    try:
        code = cli.main(arguments, prog_name=program, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message())
        return 0
    except click.ClickException as error:
        show_error(error)
        return error.exit_code
    except BadSetting as error:
        command = {"sandbox": "sandbox", "cloud": "cloud start"}.get("".join(arguments[:1]), "start")
        echo(f"Error: {error}\nTry '{program} {command} --help' for all settings.", err=True)
        return 2
    except BadInput as error:
        echo(f"Error: {error}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # `| head` has closed the pipe; what is still buffered must not fail at the exit
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return 1
    except HookrunnerError as error:
        echo(f"Error: {error}", err=True)
        return 1
    except Exception as error:
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """Report a bug: the traceback into the log, one short line for the user."""
    # Costs 60 ms and is needed only here.
    from hookrunner import log

    log.get(__name__).error("unexpected error", exc_info=error)
    log.flush(1)
    echo(f"Error: unexpected {type(error).__name__}: {error}. This is a bug: please report it.", err=True)
    return 1

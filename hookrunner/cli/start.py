"""`hookrunner start`: flags and variables become `Settings`, and the application runs with them."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace

import click

from hookrunner import settings
from hookrunner.claimed_directories import claimed_directory, reuse
from hookrunner.cli.output import echo
from hookrunner.cli.provider_completion import complete_providers
from hookrunner.errors import BadSetting
from hookrunner.options import PATHS, YES_NO, Option, options_of
from hookrunner.safe_files import require_temp_directory
from hookrunner.settings import SandboxSettings, Settings

_LEFT = 10_000
"""So many objects more than before may be there until cycles are looked for among them. Hardly anything leaves any, and
with Python's 700 the looks are a twentieth of the CPU time of a converge."""
_TLS_BUFFER = 32 * 1024
_COMPLETIONS = {"cloud-provider": complete_providers}
"""How a shell completes values, by flag."""


def click_option(option: Option, also: tuple[str, ...] = ()) -> click.Option:
    """The flag of a setting, with more names for it. Its value stays text: `settings.load` reads flags and variables
    alike."""
    about = [option.variables[0]] + [f"default: {option.default}"] * bool(option.default)
    about += [f"with --sandbox: {option.sandbox}"] * bool(option.sandbox)
    names = [f"--{name}" for name in (option.flag, *option.also, *also)]
    text = f"{option.text} [{'; '.join(about)}]"
    if option.kind.metavar == YES_NO.metavar:  # without a value it means yes
        return click.Option(names, metavar="[=BOOL]", is_flag=False, flag_value="true", help=text, hidden=option.hidden)
    many, complete = option.kind is PATHS, _COMPLETIONS.get(option.flag)
    return click.Option(
        names,
        metavar=option.kind.metavar,
        multiple=many,
        help=text,
        hidden=option.hidden,
        shell_complete=complete,
    )


def given(ctx: click.Context) -> dict[str, str]:
    """The flags that were given, by name and as text; a repeated one with commas."""
    texts = {name: value if isinstance(value, str) else ",".join(value or ()) for name, value in ctx.params.items()}
    return {name.replace("_", "-"): texts[name] for name in texts if ctx.params[name] not in (None, ())}


class _Start(click.Command):
    """Reads the settings and runs the application; its exit code is the process's."""

    def invoke(self, ctx: click.Context) -> int:
        flags = given(ctx)
        return run_application(settings.load(flags, ctx.find_root().info_name or ""), flags)


def run_application(loaded: Settings, flags: Mapping[str, str]) -> int:
    """Run the application with these settings, which the flags led to, until it is stopped; the exit code. Raises
    BadSetting, StartRefused."""
    if not loaded.sandbox.enabled:
        _refuse_sandboxes_flags(flags)
    for warning in loaded.warnings:
        echo(f"Warning: {warning}", err=True)
    require_temp_directory(loaded.hooks.tmp_dir)
    if loaded.addons.source or loaded.addons.mirrors:
        # 0.1 s, which only a start with these flags needs.
        from hookrunner.packages.source_locations import overrides_of

        overrides_of(loaded.addons)
    # After the flags are known to be good, and the child that finds the way to the cluster first: it works while the
    # application with all that it needs is imported. Each takes 0.3 s.
    from hookrunner.kube.cluster_lookup import Lookup, shared

    with ExitStack() as stack:
        loaded = with_run_directory(loaded, stack)
        loading = None
        if not loaded.sandbox.enabled:  # a sandbox has to be there before it can be found
            loaded = stack.enter_context(shared(loaded))
            loading = stack.enter_context(closing(Lookup(loaded.kube)))
        # What imports make is there to stay: to look through it a hundred times takes 50 ms, once more later 25 ms.
        gc.disable()
        shrink_tls_buffers()
        with lean_imports():
            from hookrunner.app import run

        gc.freeze()
        gc.set_threshold(_LEFT)
        gc.enable()
        return run(without_colors(loaded, flags), loading)


def without_colors(loaded: Settings, flags: Mapping[str, str]) -> Settings:
    """Settings under which the log has no colours if NO_COLOR or `--no-color` asks for none, unless a flag asks for
    colours."""
    context = click.get_current_context(silent=True)
    if context is None or context.find_root().color is not False or "log-type" in flags or loaded.log.type != "color":
        return loaded
    return replace(loaded, log=replace(loaded.log, type="plain"))


def with_run_directory(loaded: Settings, stack: ExitStack) -> Settings:
    """Settings under which files of runs are in a directory of this process, which the next start removes if this
    process is killed; files that the user keeps are not. What killed processes have left is removed."""
    directory = stack.enter_context(claimed_directory(loaded.hooks.tmp_dir, "run"))
    if loaded.hooks.keep_tmp_files:
        return loaded
    with suppress(OSError):  # no event waits for it then; if it cannot be made, each run says why
        reuse(directory)
    return replace(loaded, hooks=replace(loaded.hooks, run_directory=directory))


@contextmanager
def lean_imports() -> Iterator[None]:
    """Import libraries while aiohttp does not read the system's trusted certificates, which it does twice (36 ms each).

    Its contexts then trust no server, so each client here gets a context of its own. Only for a process that is
    ours: in another one they are others' contexts, too.
    """
    import ssl  # not before the child that finds the way to the cluster has been started

    ssl.SSLContext.set_default_verify_paths = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths  # the inherited one is back


def shrink_tls_buffers() -> None:
    """Let each TLS connection read into 32 KiB, not into the 256 KiB that asyncio reserves for it: each watch has one,
    and large lists take less CPU time, since what was just read is still in the processor's cache.

    Only for a process that is ours: it holds for all connections that are opened after it.
    """
    from asyncio.sslproto import SSLProtocol  # not before the child that finds the way to the cluster

    SSLProtocol.max_size = _TLS_BUFFER


def _refuse_sandboxes_flags(flags: Mapping[str, str]) -> None:
    """Raise BadSetting: `--sandbox` was probably forgotten, and the hooks would run on a real cluster."""
    sandbox_only = {option.flag for option in options_of(SandboxSettings).values()} - {"sandbox"}
    if stray := sorted(sandbox_only & flags.keys()):
        raise BadSetting(f"--{stray[0]} is for a sandbox only; without --sandbox hooks run on your cluster")


start = _Start(
    "start",
    params=[click_option(option) for option in settings.options()],
    help="""Find hooks and run them when things happen.

    \b
    hookrunner start                                          hooks in ./hooks, cluster of ~/.kube/config
    hookrunner start --sandbox --seed docs/demo.yaml          no cluster: one in this process
    hookrunner start --hooks-dir h --kube-context staging     another directory, another cluster
    HOOKRUNNER_LOG_LEVEL=debug hookrunner start               each flag is a variable too

    It ends with 0 when it was stopped (SIGTERM, Ctrl-C) and every hook ended by itself, with 1 when it could not start
    or had to kill a hook, with 2 for a bad flag or variable.""",
)

"""The pages of `docs/` that are made from tables in the code. `python -m tests.reference_pages` writes them anew."""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hookrunner.addons.files.addon_file_rules import ADDON_SCHEMA
from hookrunner.cloud.provider.wire_answers import ANSWER
from hookrunner.file_schemas import FileSchema
from hookrunner.metrics.names import rows
from hookrunner.modules.traits import MODULE_SCHEMA
from hookrunner.options import PREDECESSORS, TEXT, Option
from hookrunner.settings import options
from hookrunner.settings.upstream_flags import UPSTREAM_FLAGS
from kubetypes import bounds
from kubetypes.json_values import JSON
from tests.hook_reference import hook_protocol_page
from tests.provider_reference import providers_page

DOCS = Path(__file__).parents[1] / "docs"

SETTINGS = """\
# Settings

Written by `python -m tests.reference_pages` from `hookrunner/settings/`.

Precedence: the flag of `hookrunner start`, then `HOOKRUNNER_<FLAG>`, then the predecessors' variables from left to
right, then the default. A variable that is set to nothing counts as not set. A value that cannot be read ends the
program with exit code 2. With `--compat shell-operator` or `--compat addon-operator`, or started under one of these
names, the defaults of the third column become those of the fourth (of shell-operator / of addon-operator). With
`--compat upstream` the cloud controller manager has upstream's.

Flags whose text begins with "Ignored" have no effect here, and mostly had none in the predecessors; giving one is
answered with a warning.
The variables `KUBECONFIG`, `TZ`, `TMPDIR` and the proxy variables have their usual meaning.

| flag | variables | default | under `--compat` | what |
|---|---|---|---|---|
"""

UPSTREAM = """\

## Flags of upstream's cloud controller manager

`hookrunner cloud start` has the rows above whose text begins with "Cloud", and those of the cluster, the HTTP servers,
the log and the sandbox. It also accepts these flags of upstream's manager, which have no meaning here, with a warning
that says why: {flags}.
"""

BOUNDS = """\

## Bounds of documents

These are no settings. Every YAML and JSON text that comes from outside has them, aliases (`*name`) counted as often as
they stand there. A text that exceeds one is refused, and the message says which. In all of them: at most {depth} maps
and lists in one another, and {digits:,} characters in a number.

| what | size | values |
|---|---|---|
"""

METRICS = """\
# Metrics

Written by `python -m tests.reference_pages` from `hookrunner/metrics/names.py`.

`{PREFIX}` is `hookrunner_` unless `--prometheus-metrics-prefix` or `--compat` says otherwise. What hooks measure
themselves is served at `/metrics/hooks`. The labels `module` and `kind` in brackets are only there for hooks of modules
and global ones, whose `module` is empty, as in addon-operator.

`binding` is the name of a binding, except in `module_hook_*` and `global_hook_*`: there it is the type, such as
`kubernetes`, `schedule` or `beforeHelm`, as in addon-operator. `queue` is `main` also for what waits in a module's own
queue, where a metric is about hooks; metrics about queues have the queue's own name.

| metric | labels | what |
|---|---|---|
"""


def settings_page() -> str:
    """`docs/settings.md`."""
    settings = _table(
        (
            f"`--{option.flag} {option.kind.metavar}`",
            ", ".join(f"`{name}`" for name in option.variables),
            _default(option),
            _under_compat(option),
            _what(option),
        )
        for option in options()
    )
    bounded = _table((row.what, bounds.in_units(row.size), f"{row.values:,}") for row in (*bounds.EVERY, ANSWER))
    flags = ", ".join(f"`--{option.flag}`" for option in UPSTREAM_FLAGS)
    return (
        SETTINGS
        + settings
        + UPSTREAM.format(flags=flags)
        + BOUNDS.format(depth=bounds.DEPTH, digits=bounds.DIGITS)
        + bounded
    )


def _default(option: Option) -> str:
    texts = [f"`{option.default}`"] * bool(option.default)
    return ", ".join(texts + [f"with `--sandbox` `{option.sandbox}`"] * bool(option.sandbox))


def _under_compat(option: Option) -> str:
    if option.upstream:
        return f"upstream: `{option.upstream}`"
    return " / ".join(f"`{option.default_in(compat, {})}`" for compat in PREDECESSORS) if option.compat else ""


def _what(option: Option) -> str:
    also = f" Also `--{'`, `--'.join(option.also)}`." if option.also else ""
    takes = "" if option.kind is TEXT else f" It takes {option.kind.allowed}."
    return f"{option.text}{takes}{also}"


def metrics_page() -> str:
    """`docs/metrics.md`."""
    return METRICS + _table(
        (
            f"`{row.name.format('{PREFIX}')}`",
            ", ".join([*(f"`{label}`" for label in row.labels), *(f"(`{label}`)" for label in row.optional)]),
            html.escape(row.text),
        )
        for row in rows()
    )


KEYS = "| key | otherwise | |\n|---|---|---|\n"
_OTHERWISE = re.compile(r" ?Otherwise: (.+?)\.(?= |$)")


def _keys_page(name: str, schema: FileSchema) -> str:
    """A page about a file, with the table of its keys from the schema."""
    head, mark, rest = (DOCS / name).read_text().partition(KEYS)
    _, blank, tail = rest.partition("\n\n")
    return f"{head}{mark}{_table(_key_rows(schema.document, '', name))}{blank[1:]}{tail}"


def _key_rows(schema: JSON, path: str, page: str) -> Iterator[tuple[str, ...]]:
    for key, rule in schema["properties"].items():
        if "properties" in rule:
            yield from _key_rows(rule, f"{path}{key}.", page)
            continue
        stated = _OTHERWISE.search(rule["description"])
        is_required = key in schema.get("required", ())
        otherwise = stated[1] if stated else "required" if is_required else _shown(rule.get("default"))
        yield f"`{path}{key}`", otherwise, _OTHERWISE.sub("", rule["description"]) + _link(rule.get("x-see", ""), page)


def _shown(default: JSON) -> str:
    """A default as it is written in the file."""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if default else "empty" if default == "" else "none"


def _link(target: str, page: str) -> str:
    file, _, anchor = target.partition("#")
    return f" See [{anchor.replace('-', ' ') or file}]({target.removeprefix(page)})." if target else ""


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "metrics.md": metrics_page,
    "providers.md": providers_page,
    "hook-protocol.md": hook_protocol_page,
    "addon-yaml.md": lambda: _keys_page("addon-yaml.md", ADDON_SCHEMA),
    "module-yaml.md": lambda: _keys_page("module-yaml.md", MODULE_SCHEMA),
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())

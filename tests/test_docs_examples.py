"""The examples in docs/ are true: each config, patch, metrics, context and hook goes through the real code.

The words behind the language of a fenced block say what it is: `yaml config`, `json context`, `sh hook`; a `refused`
after them, that it must not be accepted. What the pages name elsewhere (tests, flags, metrics, log messages) is there.

Level: pure.
"""

import ast
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
import orjson
import pytest

from hookrunner.cli.main import cli
from hookrunner.errors import BadHookConfig, BadOutput
from hookrunner.hooks import metric_operations, patches, verdicts
from hookrunner.hooks.config import hook_config
from hookrunner.metrics.names import rows
from hookrunner.model.bindings import Change
from hookrunner.model.contexts import (
    Context,
    ContextType,
    Entry,
    Include,
    Snapshots,
    admission_review,
    conversion_review,
    render,
    render_v0,
)
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.resources import ObjectKey
from hookrunner.settings import options
from tests.tables import Test, each

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w+)((?: \w+)+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGES = {"add": Change.ADDED, "update": Change.MODIFIED, "delete": Change.DELETED}
_NOWHERE = ObjectKey("", "", "")


@dataclass(frozen=True, slots=True)
class Example:
    """One marked block: where it stands, what it is, and what the mark says beside that."""

    place: str
    kind: str
    mark: str
    text: str


@cache
def examples() -> Sequence[Example]:
    """All marked blocks of all pages."""
    return [*_examples()]


def _examples() -> Iterator[Example]:
    for page in sorted(DOCS.glob("*.md")):
        whole = page.read_text()
        for block in _BLOCK.finditer(whole):
            kind, _, mark = block[2].strip().partition(" ")
            yield Example(f"{page.name}:{whole[: block.start()].count(chr(10)) + 1}", kind, mark, block[3])


def of(kind: str, mark: str) -> Callable[[Test], Test]:
    """The examples of a kind as rows of a test."""
    return each("example", [one for one in examples() if (one.kind, one.mark) == (kind, mark)], ids=_place)


def _place(example: Example) -> str:
    return example.place


def test_every_mark_is_known() -> None:
    kinds = {"config", "patch", "metrics", "context", "hook", "script", "admission", "conversion"}
    # Those of `console kubectl` are run by `tests/flows/test_webhook_examples.py`, others by `test_docs_modules.py`.
    # Those of `docs/providers.md` are run by `test_docs_providers.py`.
    assert {one.kind for one in examples()} == kinds | {"kubectl", "offline", "live", "request", "answer", "provider"}
    assert {one.mark for one in examples()} <= {"", "refused", "v0"}


@pytest.mark.slow
@of("script", "")
def test_a_script_runs(example: Example) -> None:
    done = subprocess.run([sys.executable, "-c", example.text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@of("config", "")
def test_a_config_is_accepted(example: Example) -> None:
    config = hook_config.parse("example.sh", example.text.encode())
    assert config.version == ("v1" if "configVersion" in example.text else "v0")


@of("config", "refused")
def test_a_config_that_is_called_wrong_is_refused(example: Example) -> None:
    with pytest.raises(BadHookConfig):
        hook_config.parse("example.sh", example.text.encode())


@of("patch", "")
def test_a_patch_file_is_accepted(example: Example) -> None:
    assert len(patches.parse(example.text.encode())) == len(re.findall(r'\boperation"?:', example.text))


@of("patch", "refused")
def test_a_patch_file_that_is_called_wrong_is_refused(example: Example) -> None:
    with pytest.raises(BadOutput):
        patches.parse(example.text.encode())


@of("metrics", "")
def test_a_metrics_file_is_accepted(example: Example) -> None:
    assert len(metric_operations.parse(example.text.encode())) == len(example.text.splitlines())


@of("admission", "")
def test_an_answer_to_an_admission_review_is_understood(example: Example) -> None:
    verdict, written = verdicts.admission(example.text.encode()), orjson.loads(example.text)
    assert verdict is not None
    assert (verdict.allowed, bool(verdict.patch)) == (written["allowed"], "patch" in written)


@of("conversion", "")
def test_an_answer_to_a_conversion_is_understood(example: Example) -> None:
    answer, written = verdicts.conversion(example.text.encode()), orjson.loads(example.text)
    assert answer is not None
    assert (answer.failure, answer.objects.values()) == (
        written.get("failedMessage", ""),
        written.get("convertedObjects", []),
    )


@of("context", "")
def test_a_context_is_what_the_renderer_writes(example: Example) -> None:
    """Each example is read back into the values that it must have come from; key order counts too."""
    for element in orjson.loads(example.text):
        snapshots: dict[int, list[Entry]] = {}
        written = orjson.loads(b"".join(render([_context(element, snapshots)], snapshots)))
        assert orjson.dumps(written) == orjson.dumps([element])


@of("context", "v0")
def test_a_v0_context_is_what_the_renderer_writes(example: Example) -> None:
    elements = orjson.loads(example.text)
    assert orjson.loads(b"".join(render_v0([_v0(element) for element in elements]))) == elements


def _context(element: dict[str, Any], snapshots: dict[int, list[Entry]]) -> Context:
    """The context that is rendered as this element; its snapshots are put where it looks for them."""
    includes = []
    for place, (name, entries) in enumerate(element.get("snapshots", {}).items(), 1):
        snapshots[place] = [_entry(entry) for entry in entries]
        includes.append(Include(name, place))
    snapshots[0] = [_entry(entry) for entry in element.get("objects", [])]
    own = _entry(element)
    return Context(
        binding=element["binding"],
        type=ContextType(element.get("type", "Startup")),
        group=element.get("groupName", ""),
        source=0,
        change=Change(element["watchEvent"]) if "watchEvent" in element else None,
        obj=own.obj,
        filtered=own.filtered,
        includes=tuple(includes),
        extra=_asked(element),
        objects=JsonObjects.of(element.get("review", {}).get("request", {}).get("objects", ())),
    )


def _asked(element: dict[str, Any]) -> Any:
    """The keys that only the context of a review has, as the functions that make them write them."""
    if "review" not in element:
        return None
    version, request = element["review"]["apiVersion"], element["review"]["request"]
    if "toVersion" in element:
        head = orjson.dumps({key: value for key, value in request.items() if key != "objects"})
        return conversion_review(version, head, (element["fromVersion"], element["toVersion"]))
    return admission_review(version, request)


def _entry(element: dict[str, Any]) -> Entry:
    obj, filtered = (orjson.dumps(element[key]) if key in element else None for key in ("object", "filterResult"))
    return Entry(_NOWHERE, obj, filtered)


def _v0(element: dict[str, Any]) -> Context:
    if "resourceEvent" not in element:
        return Context(element["binding"], ContextType.STARTUP)
    key = ObjectKey(element["resourceNamespace"], element["resourceKind"], element["resourceName"])
    return Context(element["binding"], ContextType.EVENT, change=_CHANGES[element["resourceEvent"]], key=key)


def hooks() -> list[tuple[Example, Example]]:
    """Each hook with the context that follows it on the page."""
    return [(one, following) for one, following in itertools.pairwise(examples()) if one.kind == "hook"]


@pytest.mark.slow
@pytest.mark.parametrize(("hook", "context"), hooks(), ids=lambda one: one.place)
def test_a_hook_is_accepted_and_works_on_its_context(hook: Example, context: Example, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("hook", "BINDING_CONTEXT_PATH", "KUBERNETES_PATCH_PATH")}
    files["hook"].write_text(hook.text)
    files["hook"].chmod(0o755)
    files["BINDING_CONTEXT_PATH"].write_text(context.text)
    files["KUBERNETES_PATCH_PATH"].touch()
    found = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": found, **{name: str(path) for name, path in files.items() if name != "hook"}}
    config = subprocess.run([files["hook"], "--config"], env=env, check=True, capture_output=True).stdout
    (binding,) = hook_config.parse("hook", config).kubernetes
    assert {element["binding"] for element in orjson.loads(context.text)} == {binding.name}
    printed = subprocess.run([files["hook"]], env=env, check=True, capture_output=True).stdout
    assert printed or patches.parse(files["KUBERNETES_PATCH_PATH"].read_bytes())


def test_a_group_in_an_example_shows_nothing_but_snapshots() -> None:
    """The reading back above would also accept keys that a real Group context never has."""
    snapshots: Snapshots = {0: []}
    context = Context("pods", ContextType.GROUP, group="g", change=Change.ADDED, obj=b"{}", source=0)
    assert orjson.loads(b"".join(render([context], snapshots))) == [
        {"binding": "pods", "type": "Group", "groupName": "g"}
    ]


def pages(pattern: str) -> list[tuple[str, str]]:
    """(page, word) for each match of a pattern in the documents that are written by hand."""
    written = [page for page in sorted(DOCS.glob("*.md")) if page.name not in ("settings.md", "metrics.md")]
    return [(page.name, word) for page in written for word in re.findall(pattern, page.read_text())]


@pytest.mark.slow
def test_every_test_that_a_page_names_exists() -> None:
    named = pages(r"`(tests/[\w/]+\.py::\w+)`")
    assert len(named) > 50
    assert [one for one in named if not _is_test(*one[1].split("::"))] == []


def _is_test(file: str, name: str) -> bool:
    return name in _functions(ROOT / file)


@cache
def _functions(file: Path) -> set[str]:
    """The names of those at the top of a file; none if there is no such file."""
    body = ast.parse(file.read_text()).body if file.exists() else []
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_difference_names_its_proof() -> None:
    table = [line for line in (DOCS / "differences.md").read_text().splitlines() if line.startswith("| ")]
    heads = ("| what ", "| program ")
    assert [line for line in table if not line.startswith(heads) and "`tests/" not in line] == []


def flags_of(command: click.Command) -> Iterator[str]:
    """The long flags of a command and of all below it."""
    ctx = click.Context(command)
    yield from (name.removeprefix("--") for parameter in command.params for name in parameter.opts)
    if isinstance(command, click.Group):
        below = (command.get_command(ctx, name) for name in command.list_commands(ctx))
        yield from (flag for one in below if one for flag in flags_of(one))


def test_every_flag_that_a_page_names_exists() -> None:
    flags = {name for option in options() for name in (option.flag, *option.also)} | set(flags_of(cli))
    others = {"config", "set", "set-file", "values", "required", "help", "watch", "no-controllers"}
    others |= {"peer", "only", "repeat", "quick", "hookrunner", "soak"}  # of python -m benchmarks
    others |= {"target", "output", "image", "isolation", "layers"}  # of docker build, our pytest, and buildah
    others |= {"unbuffered"}  # of jq
    others |= {
        "type",
        "dry-run",
        "replicas",
        "as",
        "as-group",
        "overwrite",
        "ignore-not-found",
        "from-file",
    }  # of kubectl
    others |= {"server-side", "force", "for", "field-selector", "cascade", "from-literal", "show-labels"}  # of kubectl
    others |= {"skip-phases", "selector"}  # of kubeadm, kubectl
    others |= {"pending", "failed", "reset-then-reuse-values", "atomic", "create-namespace"}  # of helm
    others |= {"from", "no-cache-dir", "no-install-recommends", "yes", "build-arg", "no-deps", "require-hashes"}
    others |= {"live", "nightly", "hypothesis-profile"}  # of pytest and .ci/run
    others |= {
        "cloud-provider",
        "disable-cloud-controller",
        "disable",
        "kubelet-arg",
        "enable-cloud-provider",
    }  # of kubelets
    others |= {"node-ip", "allocate-node-cidrs", "cluster-cidr", "cloud-provider-name"}  # of Kubernetes' programs
    others |= {"ip-masq", "tlog-upload", "bundle", "signing-config"}  # of flannel, cosign
    others |= {"verb", "code", "times", "chance", "retry-after"}  # of providers/simcloud
    others |= {"seconds", "stubborn", "count", "zone"}  # of providers/simcloud
    others |= {"arg", "argjson", "cluster"}  # of jq, pytest
    others |= {"artifact-type", "to-oci-layout", "platform", "push"}  # of oras, docker
    others |= {"requirement", "upgrade", "admission-control-config-file", "format"}  # of pip, kube-apiserver, docker
    assert {word for _, word in pages(r"(?<![\w-])--([a-z][a-z-]+)")} - flags - others == set()


def test_every_metric_that_a_page_names_exists() -> None:
    names = {row.name.format("hookrunner_") for row in rows()}
    named = {re.sub(r"_(bucket|sum|count)$", "", word) for _, word in pages(r"\bhookrunner_\w+")}
    assert named - names == set()


def test_every_log_message_in_the_table_is_written_somewhere() -> None:
    """`…` stands for what differs from record to record."""
    code = "".join(re.sub(r'"\s*\n\s*f?"', "", file.read_text()) for file in (ROOT / "hookrunner").rglob("*.py"))
    rows = re.findall(r"^\| `([^`]+)` \| (?:debug|info|warn|error) \|", (DOCS / "operations.md").read_text(), re.M)
    assert len(rows) > 15
    assert [row for row in rows if not all(part in code for part in row.split("…"))] == []

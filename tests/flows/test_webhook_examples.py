"""docs/webhooks.md on a real API server: its files are applied, its hooks answer, and its `kubectl` commands print what
the page shows. Each run has a group of its own in place of `stable.example.com`: others use the cluster too.

Level: control plane."""

import json
import os
import secrets
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from hookrunner.hooks.config import hook_config
from hookrunner.model.bindings import Hook
from hookrunner.registration.desired import Target, desired_registrations
from hookrunner.registration.webhook_objects import MUTATING, VALIDATING
from tests import pages
from tests.controlplane.cluster import Cluster
from tests.controlplane.processes import free_port
from tests.controlplane.tools import find_tool
from tests.flows.conftest import Start
from tests.flows.operator import Operator
from tests.flows.scripts import hook
from tests.flows.waiting import until
from tests.test_docs_examples import Example, examples

Scripts = Callable[[], dict[str, str]]

PAGE = "webhooks.md"
GROUP = "stable.example.com"


@dataclass(frozen=True, slots=True)
class Reader:
    """A user who follows the page in a directory and a namespace of their own."""

    directory: Path
    kubeconfig: Path
    namespace: str
    group: str
    port: int = field(default_factory=free_port)

    @property
    def names(self) -> list[str]:
        """The flags that say what the registrations are called and where they lead."""
        return [
            f"--namespace={self.namespace}",
            f"--validating-webhook-configuration-name={self.namespace}",
            f"--webhook-url=https://127.0.0.1:{self.port}",
        ]

    @property
    def flags(self) -> list[str]:
        """Of a hookrunner outside the cluster, with registrations of its own."""
        return [*self.names, f"--webhook-port={self.port}", "--webhook-certs=self"]

    def writes(self) -> None:
        """All files of the page."""
        for file in pages.steps(PAGE):
            if isinstance(file, pages.File):
                replace(file, text=file.text.replace(GROUP, self.group)).write(self.directory)

    def types(self, line: str) -> str:
        """What a command prints, in the words of the page."""
        program, *words = shlex.split(line.replace(GROUP, self.group))
        assert program == "kubectl"
        environ = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.directory / "cache")}
        command = [str(find_tool("kubectl")), "--namespace", self.namespace, *words]
        done = subprocess.run(
            command, cwd=self.directory, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.stdout.replace(self.group, GROUP)

    def removes(self) -> None:
        """Takes the registrations away, when hookrunner has ended."""
        command = [sys.executable, "-m", "hookrunner", "webhooks", "remove", f"--kube-config={self.kubeconfig}"]
        subprocess.run([*command, *self.names], check=True)


@pytest.fixture
async def reader(cluster: Cluster, namespace: str, tmp_path: Path) -> AsyncIterator[Reader]:
    """All files of the page are written, and its CustomResourceDefinition is there."""
    group = f"stable-{secrets.token_hex(4)}.example.com"
    one = Reader(tmp_path, cluster.kubeconfig, namespace, group)
    one.writes()
    assert "created" in one.types("kubectl create -f crontabs.yaml")
    cluster.wait_for_definition(f"crontabs.{group}")
    yield one
    one.removes()
    assert f'"{namespace}" not found' in one.types(f"kubectl get validatingwebhookconfiguration {namespace}")
    assert one.types(f"kubectl get crd crontabs.{GROUP} -o jsonpath={{.spec.conversion.strategy}}") == "None"
    one.types(f"kubectl delete crd crontabs.{GROUP}")


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripts:
    """The page's hooks, as the reader has written them. One of them asks hookrunner where the shell library is."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    hooks = tmp_path / "hooks"
    return lambda: {file.name: file.read_text() for file in hooks.iterdir() if file.suffix != ".yaml"}


async def test_the_commands_print_what_the_page_shows(reader: Reader, operator: Start, scripts: Scripts) -> None:
    await operator(scripts(), *reader.flags)
    await follow(reader)


async def test_the_commands_print_the_same_on_the_sandbox(tmp_path: Path, operator: Start, scripts: Scripts) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    reader = Reader(tmp_path, kubeconfig, "default", GROUP)
    reader.writes()
    await operator(scripts(), "--sandbox", f"--sandbox-kubeconfig={kubeconfig}", kubeconfig=kubeconfig)
    reader.types("kubectl create -f crontabs.yaml")
    # Conversions that fail while webhooks are asked: their failure has no such frame here.
    await follow(reader, without=(" (InternalError)", "Internal error occurred: "))


async def follow(reader: Reader, without: tuple[str, ...] = ()) -> None:
    """Type what the page shows, one command after another. Words that are not to be expected may be named."""
    # The API server hears of a registration a little later than of its having been written.
    await until(lambda: "denied" in reader.types("kubectl create --dry-run=server -f bad.yaml"), "refusals")
    good = "kubectl create --dry-run=server -o yaml -f good.yaml"
    await until(lambda: "replicas: 3" in reader.types(good), "mutations")
    await until(lambda: "must be" in reader.types("kubectl create --dry-run=server -f odd.yaml"), "conversions")
    consoles = [step for step in pages.steps(PAGE) if isinstance(step, pages.Console) and step.mark == "kubectl"]
    for line, shown in [command for console in consoles for command in console.commands]:
        for words in without:
            shown = shown.replace(words, "")
        assert reader.types(line).rstrip("\n") == shown.rstrip("\n"), line


CONFIGS = [example for example in examples() if example.kind == "config" and "kubernetesValidating" in example.text]


@pytest.mark.parametrize("example", CONFIGS, ids=lambda one: one.place)
def test_the_api_server_accepts_the_configurations(example: Example, cluster: Cluster) -> None:
    hooks = [Hook("h", Path("/h"), hook_config.parse("h", example.text.encode()))]
    target = Target("https://127.0.0.1", "", "")
    wanted = desired_registrations(hooks, "unused", target, target)
    for kind, key, entries in (
        (VALIDATING, "kubernetesValidating:", wanted.validating),
        (MUTATING, "kubernetesMutating:", wanted.mutating),
    ):
        body = {"metadata": {"generateName": "test-"}, "webhooks": list(entries)}
        taken = cluster.create(f"{kind.path()}?dryRun=All", body).get("webhooks", [])
        assert len(taken) == example.text.count(key)


ANSWERS = [example.text for example in examples() if example.kind == "admission"]
BY_NAME = """\
jq --argjson answers "$(cat "$TOLD/answers.json")" '.[0] | .type as $type | $answers[.review.request.name] |
  if has("patch") == ($type == "Mutating") then . else {allowed: true} end' \\
  "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
"""


def answering(reader: Reader) -> str:
    """A hook that answers with what there is for the object's name: patches as a mutating one, else as a validating."""
    rule = {"apiGroups": [reader.group], "apiVersions": ["v1"], "resources": ["crontabs"], "operations": ["*"]}
    names = {key: f"{key.lower()}.{reader.group}" for key in ("kubernetesValidating", "kubernetesMutating")}
    return hook({key: [{"name": name, "rules": [rule]}] for key, name in names.items()}, BY_NAME)


async def test_answers_have_the_effect_that_the_page_describes(
    reader: Reader, operator: Start, cluster: Cluster
) -> None:
    answers = {f"answer-{number}": json.loads(text) for number, text in enumerate(ANSWERS)}
    program = await operator({"answers.sh": answering(reader)}, *reader.flags, ready=False)
    (program.told / "answers.json").write_text(json.dumps(answers | {"no": {"allowed": False}}))
    await program.ready()
    await until(lambda: code(cluster, reader, "no") == HTTPStatus.FORBIDDEN, "refusals")
    patched = next(name for name, answer in answers.items() if "patch" in answer)
    await until(lambda: "333" in create(reader, patched), "mutations, of which the API server hears by another watch")
    for name, answer in answers.items():
        shown = create(reader, name)
        assert [f"Warning: {warning}" in shown for warning in answer.get("warnings", [])].count(False) == 0
        assert ("denied" in shown, answer.get("message", "") in shown) == (not answer["allowed"], True)
        assert code(cluster, reader, name) == (201 if answer["allowed"] else answer.get("code", 403))
        assert ("333" in shown) == ("patch" in answer)


def create(reader: Reader, name: str) -> str:
    """What kubectl shows of the making of an object with that name, which is not kept."""
    (reader.directory / "some.yaml").write_text(json.dumps(crontab(reader, name)))
    return reader.types("kubectl create --dry-run=server -o yaml -f some.yaml")


def crontab(reader: Reader, name: str) -> dict[str, Any]:
    return {"apiVersion": f"{reader.group}/v1", "kind": "CronTab", "metadata": {"name": name}, "spec": {}}


def code(cluster: Cluster, reader: Reader, name: str) -> int:
    """The status code of the same."""
    path = f"/apis/{reader.group}/v1/namespaces/{reader.namespace}/crontabs?dryRun=All"
    return cluster.request("POST", path, crontab(reader, name)).status


CONTEXTS = [example for example in examples() if example.kind == "context" and example.place.startswith(PAGE)]
YES = """\
jq '.[0].review.request.objects // [] | {convertedObjects: map(.apiVersion |= sub("v1alpha1"; "v1"))}' \\
  "$BINDING_CONTEXT_PATH" > "$CONVERSION_RESPONSE_PATH"
echo '{"allowed": true}' > "$VALIDATING_RESPONSE_PATH"
"""


async def test_contexts_have_the_keys_that_the_page_shows(reader: Reader, operator: Start) -> None:
    rule = {"apiGroups": [reader.group], "apiVersions": ["v1"], "resources": ["crontabs"], "operations": ["CREATE"]}
    step = {"fromVersion": "v1alpha1", "toVersion": "v1"}
    config: dict[str, Any] = {
        "kubernetesValidating": [{"name": f"a.{reader.group}", "rules": [rule]}],
        "kubernetesCustomResourceConversion": [
            {"name": "up", "crdName": f"crontabs.{reader.group}", "conversions": [step]}
        ],
    }
    program = await operator({"h.sh": hook(config, YES)}, *reader.flags)
    shown = {context["type"]: keys(context) for example in CONTEXTS for context in json.loads(example.text)}
    await until(lambda: asked(reader, program).keys() == shown.keys(), "both kinds of reviews")
    assert asked(reader, program) == shown


def asked(reader: Reader, program: Operator) -> dict[str, list[set[str]]]:
    """The keys of the contexts that came, by type, after one more object of the old version was made."""
    reader.types("kubectl create --dry-run=server -f old.yaml")
    return {context["type"]: keys(context) for context in program.contexts("h.sh")}


def keys(context: dict[str, Any]) -> list[set[str]]:
    """At the levels where we or the API server decide about them; snapshots are the hook's wish."""
    return [set(context) - {"snapshots"}, set(context["review"]), set(context["review"]["request"])]

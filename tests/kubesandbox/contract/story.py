"""Stories: requests in a few words, and what the server answers to them as text that can be compared.

`stories/*.requests` has the requests; what the real control plane answers is recorded (see `recording.py`).

=== what the story shows
given POST configmaps                   a step that must succeed and whose answer does not matter
{metadata: {name: $x}}                  the body, as YAML; after a line `raw` it is sent as it is written
PATCH merge configmaps/$x?dryRun=All | data, metadata.generation
+ Accept: application/yaml              a header
{data: {a: b}}

The answer is the code, warnings, and the picked fields (`code`: nothing more); of a refusal `reason`, `message`,
`details`, `causes`, else all of its Status: `python -m tests.kubesandbox.recording show contract.update 'a stale'`.

`$x` is a name of the story's own, `$ns` the namespace, `$group` its API group. A path without a leading slash is in the
namespace: `configmaps/$x`; `CRD things` is a kind in `$group` (its body: `schema` and what `objects.crd` takes)
that other stories may use too; its objects are at `things/…`, or `things@v2/…` for another version.
`PATCH` names json, merge, strategic or apply.
A line `# differs on the sandbox: why`, before the first step, is for what `docs/sandbox.md` lists.
What is different each time (uid, time, resourceVersion, address) is shown in capitals.
"""

import itertools
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.kubesandbox.contract.api import Api, Reply
from tests.kubesandbox.contract.objects import VERSION_OF, CustomKind, at
from tests.kubesandbox.recording import digest, same_each_time

PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
CASE = re.compile(r"^=== (.+)\n((?:.*\n)*?)(?=^=== |\Z)", re.MULTILINE)
STEP = re.compile(r"^(given )?([A-Z]+(?<!PATCH)|PATCH (?:json|merge|strategic|apply)) (\S+)(?: \| (.+))?$")


@dataclass(frozen=True, slots=True)
class Story:
    """A story as its file tells it."""

    name: str
    given: str

    @property
    def question(self) -> str:
        """What its answer is recorded under: another story needs another answer."""
        return f"{self.name} {digest(self.given)}"

    @property
    def differs(self) -> bool:
        """Whether the sandbox is known to do otherwise; why is said there and in `docs/sandbox.md`."""
        return "# differs on the sandbox: " in self.given


@dataclass(slots=True)
class Step:
    """One request of a story."""

    quiet: bool
    method: str
    path: str
    picked: list[str]
    headers: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    @property
    def body(self) -> object:
        if self.lines[:1] == ["raw"]:
            return "\n".join(self.lines[1:]).encode()
        return yaml.load("\n".join(self.lines), yaml.CSafeLoader)

    @property
    def content_type(self) -> str:
        kind = self.method.partition(" ")[2]
        return PATCHES.get(kind, "application/json")


def stories(file: Path) -> list[Story]:
    """The stories of a file."""
    return [Story(found[1], found[2]) for found in CASE.finditer(file.read_text())]


def prepare(api: Api, told: Iterable[Story]) -> None:
    """Define in advance the kinds that the stories want, so that each need not wait for its own."""
    for step in itertools.chain.from_iterable(steps(story.given) for story in told):
        if step.method == "CRD":
            api.define(step.path, **_spec(step))


def tell(api: Api, namespace: str, story: Story) -> str:
    """Do what the story says and return what came of it; where a step that must succeed does not, that."""
    name = f"x{secrets.token_hex(4)}"
    words = {"$x": name, "$ns": namespace, "$group": f"g{name}.example.com"}
    given = story.given
    shown: list[str] = []
    kinds: dict[str, CustomKind] = {}
    for step in steps(given):
        if step.method == "CRD":
            kinds[step.path] = kind = api.kind(step.path, **_spec(step))
            words["$group"] = kind.group
            continue
        reply = _ask(api, step, words, kinds)
        if not step.quiet:
            shown.append(answer(reply, step.picked))
        elif reply.status >= 300:
            shown.append(f"BROKEN: {step.method} {step.path} → {reply.status}: {reply.body}")
            break
    text = "\n".join(shown)
    for word, value in sorted(words.items(), key=lambda each: -len(each[1])):
        text = text.replace(value, word)
    return text.strip()


def steps(text: str) -> Iterator[Step]:
    """The requests of a story, in order."""
    step: Step | None = None
    for line in text.splitlines():
        if found := STEP.match(line):
            if step:
                yield step
            step = Step(bool(found[1]), found[2], found[3], re.split(r",\s*", found[4]) if found[4] else [])
        elif step and line.startswith("+ "):
            key, _, value = line[2:].partition(": ")
            step.headers[key] = value
        elif step and not (line.startswith("#") and not step.lines):
            step.lines.append(line)
    if step:
        yield step


def _spec(step: Step) -> dict[str, Any]:
    spec = yaml.load("\n".join(step.lines), yaml.CSafeLoader)
    return spec if isinstance(spec, dict) else {}


def _ask(api: Api, step: Step, words: dict[str, str], kinds: dict[str, CustomKind]) -> Reply:
    method = step.method.partition(" ")[0]
    said = Step(step.quiet, method, _path(step.path, words["$ns"], kinds), [], step.headers, step.lines)
    for word, value in words.items():
        said.path = said.path.replace(word, value)
        said.lines = [line.replace(word, value) for line in said.lines]
    return api.request(method, said.path, said.body, said.headers, step.content_type)


def _path(path: str, namespace: str, kinds: dict[str, CustomKind]) -> str:
    if path.startswith("/"):
        return path
    collection, slash, rest = re.match(r"([^/?]+)(/?)(.*)", path).groups()  # type: ignore[union-attr]
    plural, _, version = collection.partition("@")
    if plural in kinds:
        return kinds[plural].path(namespace, version=version or "v1") + slash + rest
    known = plural in VERSION_OF
    return (at(plural, namespace) if known else f"/api/v1/namespaces/{namespace}/{plural}") + slash + rest


def answer(reply: Reply, picked: list[str]) -> str:
    """A reply as text: the code, its warnings and what was asked for of the body.

    Warnings of the sandbox about itself are left out.
    """
    warnings = (f"Warning: {warning}" for warning in reply.warnings if "the sandbox" not in warning)
    head = [str(reply.status), *warnings]
    body = reply.body
    if isinstance(body, dict) and body.get("kind") == "Status" and reply.status >= 400:
        shown: Any = _refusal(body, reply.status, {"reason", "message", "details", "causes"} & set(picked))
    elif not isinstance(body, dict | list):
        return "\n".join([*head, *([str(body)] if picked != ["code"] else [])])
    else:
        wanted = [path for path in picked if path not in {"reason", "message", "details", "causes"}]
        shown = {path: _pick(body, path) for path in wanted} if wanted else _plain(body)
    return "\n".join(head if picked == ["code"] else [*head, _dump(shown)])


def _refusal(status: dict[str, Any], code: int, picked: set[str]) -> dict[str, Any]:
    """A Status without what is the same in all of them, which is checked here instead.

    `causes` picks only each cause's field and reason, for messages that are made of Go's own structures.
    """
    same = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}, "code": code}
    assert {key: status.get(key) for key in same} == same
    causes = status.get("details", {}).get("causes", [])
    shown = {key: value for key, value in status.items() if key not in same}
    if picked:
        brief = {"causes": sorted({f"{cause.get('field')}: {cause['reason']}" for cause in causes})}
        return {key: value for key, value in (shown | brief).items() if key in picked}
    if causes and all(cause["message"] in status["message"] for cause in causes):
        del shown["message"]  # it only repeats them
    return shown


def _plain(body: Any) -> Any:
    """An object without the bookkeeping that only the stories about it are interested in."""
    bookkeeping = {"managedFields", "uid", "creationTimestamp", "resourceVersion"}
    if isinstance(body, dict) and isinstance(body.get("metadata"), dict):
        meta = {key: value for key, value in body["metadata"].items() if key not in bookkeeping}
        return {**body, "metadata": meta}
    return body


def _pick(body: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(body, list):
            body = body[int(key)] if key.isdigit() else [_pick(item, key) for item in body]
        else:
            body = body.get(key.replace("~", "."), "<none>") if isinstance(body, dict) else "<none>"
    return body


def _dump(body: Any) -> str:
    return yaml.dump(same_each_time(body), Dumper=yaml.CSafeDumper, width=1000, allow_unicode=True).strip()

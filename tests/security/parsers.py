"""Every parser that reads bytes from outside: how it is called, what it may refuse with, and texts to begin with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hookrunner import cron
from hookrunner.charts.manifests import manifests
from hookrunner.errors import BadConfig, BadOutput, BadPatch, PackageError, ReleaseFailed, RenderFailed
from hookrunner.hooks import metric_operations, patches, verdicts
from hookrunner.hooks.config import hook_config
from hookrunner.manifests.kustomization_files import check_kustomizations
from hookrunner.manifests.patches import parse_patch
from hookrunner.modules import offline, traits
from hookrunner.packages import channels, package_files
from hookrunner.packages.package import parse_package
from hookrunner.releases.records import record_encoding
from hookrunner.testing import manifests as given
from hookrunner.values import config_sections
from hookrunner.values.patches import applied
from hookrunner.values.schemas import schema_files
from hookrunner.web import review_documents as reviews
from kubesandbox.builtin import protobuf
from kubesandbox.columns import jsonpath
from kubesandbox.controllers import seeds
from kubesandbox.errors import BadFile
from kubesandbox.query import selectors
from kubesandbox.status import Refused
from kubesandbox.verbs import bodies
from kubetypes import patterns
from kubetypes.patches import json_patch
from kubetypes.patches.refusals import PatchRefused

Refusals = tuple[type[Exception], ...]


@dataclass(frozen=True, slots=True)
class Parser:
    """`read` takes the bytes and returns what they mean, or raises one of `refusals`."""

    read: Callable[[bytes], Any]
    refusals: Refusals
    samples: tuple[bytes, ...]
    languages: str = ""
    """`yaml` and `json` where it reads these."""


def _text(text: bytes) -> str:
    return text.decode(errors="replace")


def _sections(text: bytes) -> Any:
    return _refused(config_sections.parse({"global": _text(text), "foo": _text(text)}).problems)


def _refused(problems: Any) -> Any:
    if problems:
        raise ValueError("; ".join(problems.values()))
    return problems


def _in_file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
    def written(text: bytes) -> Any:
        with TemporaryDirectory() as directory:
            path = Path(directory, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text)
            return read(path)

    return written


def _values_patch(text: bytes) -> Any:
    return applied({"foo": {"a": {"b": [1, 2]}}}, patches.parse_values_patch(text), "foo")


def _patched(text: bytes) -> Any:
    return json_patch.apply({"foo": {"a": {"b": [1, 2]}}}, bodies.from_json(text, "Patch"))


CONFIG = (
    b"configVersion: v1\nonStartup: 1\nschedule:\n- {name: a, crontab: '*/5 * * * *'}\nkubernetes:\n- {kind: Pod}\n"
)
MANIFEST = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    b\n  c: 'd'\n"
VALUES = b"a: &a {b: 1.5, c: [0x10, yes, 2020-01-01]}\nd: {<<: *a, e: ~}\n"
REVIEW = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",'
    b'"request":{"uid":"a","object":{"kind":"Pod","spec":{"a":[1,2.5e3,null]}}}}'
)
CONVERSION = (
    b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview",'
    b'"request":{"uid":"a","desiredAPIVersion":"v1","objects":[{"a":{}}]}}'
)
STEPS = b'[{"op":"add","path":"/foo/a/c","value":{"x":[]}},{"op":"test","path":"/foo/a/b/0","value":1}]'
KUSTOMIZATION = b"namespace: a\nopenapi: {path: kustomization.yaml}\npatches: [{patch: '{}'}]\n"
PATCH = b'{"target":{"apiVersion":"v1","kind":"A","name":"a"},"jsonPatch":[{"op":"remove","path":"/a"}]}'
NAMESPACE = b"k8s\0\n\x0f\n\x02v1\x12\tNamespace\x12\x0a\n\x08\n\x01aB\x03\x08\x90N"
RECORD = record_encoding.packed({"name": "a", "namespace": "b", "version": 1, "info": {"status": "deployed"}}).encode()
SCHEMA = b"type: object\nproperties: {a: {type: string, pattern: '^a+$'}, b: {$ref: '#/properties/a'}}\n"

CHANNEL = b"manifests:\n- {version: 1.2.3, kubernetesVersion: '>=1.28 || ~1.2', digest: 'sha256:%b'}\n" % (b"ab" * 32)
CHECKSUMS = b"%b  manifest.yaml\n%b *./sub/a.yaml\n" % (b"ab" * 32, b"CD" * 32)


def _channel(text: bytes) -> Any:
    channel = channels.parse_channel("stable", channels.decode_channel("stable", text))
    return channels.choose_entry(channel, "coredns", "v1.33.0-gke.1")


PARSERS: dict[str, Parser] = {
    "ConfigMap": Parser(_sections, (ValueError,), (VALUES, b"{}"), "yaml"),
    "Secret in a file": Parser(
        _in_file("s.yaml", lambda path: _refused(offline.read_configured([path]).plain.problems)),
        (BadConfig, ValueError),
        (b"kind: Secret\napiVersion: v1\ndata: {foo: YTogMQ==}\n", b"foo: {a: 1}\n"),
        "yaml",
    ),
    "--config": Parser(lambda text: hook_config.parse("h", text), (BadConfig,), (CONFIG,), "yaml json"),
    "patches": Parser(
        patches.parse, (BadOutput,), (b'{"operation":"Create","object":{"kind":"A","apiVersion":"v1"}}',), "yaml json"
    ),
    "metrics": Parser(
        metric_operations.parse, (BadOutput,), (b'{"name":"a","action":"add","value":1,"labels":{"a":"b"}}',), "json"
    ),
    "verdict": Parser(verdicts.admission, (BadOutput,), (b'{"allowed":true,"patch":"W10=","warnings":["a"]}',), "json"),
    "conversion": Parser(verdicts.conversion, (BadOutput,), (b'{"convertedObjects":[{"kind":"A"}]}',), "json"),
    "values patch": Parser(_values_patch, (BadOutput, BadConfig), (STEPS,), "json"),
    "chart output": Parser(
        lambda text: manifests({"c/templates/a.yaml": _text(text)}, "c", {}), (RenderFailed,), (MANIFEST,), "yaml"
    ),
    "kustomization": Parser(
        lambda text: check_kustomizations({"kustomization.yaml": text}), (RenderFailed,), (KUSTOMIZATION,), "yaml json"
    ),
    "patch of an instance": Parser(
        lambda text: parse_patch(bodies.from_json(text, "Patch"), "patches[0]"), (Refused, BadPatch), (PATCH,), "json"
    ),
    "review": Parser(
        lambda text: reviews.parse_admission(bytearray(text)), (reviews.UnreadableReview,), (REVIEW,), "json"
    ),
    "conversion review": Parser(
        lambda text: reviews.parse_conversion(bytearray(text)), (reviews.UnreadableReview,), (CONVERSION,), "json"
    ),
    "protobuf": Parser(protobuf.decoded, (Refused,), (NAMESPACE,)),
    "sandbox body": Parser(
        lambda text: bodies.parsed(text, "application/json", "Pod"), (Refused,), (b'{"a":{"b":[1,{}]},"a":2}',), "json"
    ),
    "sandbox YAML": Parser(lambda text: bodies.from_yaml(text, "Pod"), (Refused,), (MANIFEST,), "yaml json"),
    "JSON patch": Parser(_patched, (Refused, PatchRefused), (STEPS,), "json"),
    "JSONPath": Parser(
        lambda text: jsonpath.parse(_text(text)).find({"a": [{"b": 1}, {"b": 2}]}),
        (jsonpath.PathError,),
        (b".a[?(@.b==1)].b", b"..b", b".a[0:2:1]['b']"),
    ),
    "selector": Parser(lambda text: selectors.labels(_text(text)), (Refused,), (b"a=b,c in (d,e),!f,g>1",)),
    "crontab": Parser(lambda text: cron.parse(_text(text)), (BadConfig,), (b"*/5 1-3,7 * JAN MON", b"@every 1h30m")),
    "pattern": Parser(
        lambda text: patterns.compiled(_text(text)), (patterns.BadPattern,), (rb"^(a|b)+[^c-d]{1,3}\.(?i:x)$",)
    ),
    "channel": Parser(_channel, (PackageError,), (CHANNEL, b"manifests: [{name: coredns, version: latest}]"), "yaml"),
    "package.yaml": Parser(
        lambda text: parse_package("coredns", "1", {"package.yaml": text, "a.yaml": b""}),
        (PackageError,),
        (b"kubernetes: '>=1.28 <2'\nupgradesFrom: 1.x\ndata: [a.yaml]\ndescription: b\n",),
        "yaml",
    ),
    "SHA256SUMS": Parser(lambda text: package_files.parse_checksums("coredns 1", text), (PackageError,), (CHECKSUMS,)),
    "release record": Parser(record_encoding.unpacked, (ReleaseFailed,), (RECORD,)),
    "module.yaml": Parser(
        lambda text: traits.parse(text, "m"),
        (BadConfig,),
        (b"name: a\nweight: 1\nrequires: {modules: [b >= 1]}\n",),
        "yaml",
    ),
    "schema": Parser(
        _in_file("openapi/values.yaml", lambda path: schema_files.load(path.parents[1], "foo")),
        (BadConfig,),
        (SCHEMA,),
        "yaml",
    ),
    "seed": Parser(_in_file("s.yaml", lambda path: list(seeds._objects(path))), (BadFile,), (MANIFEST,), "yaml"),
    "manifest of a test": Parser(
        lambda text: given.objects(text, "m"),
        (BadConfig,),
        (MANIFEST, b'{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}'),
        "yaml json",
    ),
}

"""Objects of every built-in kind, created: the sandbox's rules against a real API server's, field by field.

Level: control plane."""

from pathlib import Path

import yaml

from kubesandbox import kinds
from tests.kubesandbox.builtin.ours import Object, comparable, kind_of, mine, theirs
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

HERE = Path(__file__).parent
UNCHECKED = {"CertificateSigningRequest"}  # the sandbox signs nothing and fills in no user


def objects(file: str) -> list[Object]:
    """The manifests of a file beside this one."""
    return [one for one in yaml.load_all((HERE / file).read_text(), yaml.CSafeLoader) if one]


def called(obj: Object) -> str:
    """What a test of the manifest is called."""
    return f"{obj['kind']}-{obj['metadata']['name']}"


@each("obj", lambda: objects("minimal.yaml"), ids=called)
def test_the_least_of_a_kind_becomes_what_a_real_server_makes_of_it(oracle: Oracle, obj: Object) -> None:
    answer = comparable(theirs(oracle, obj))
    assert answer[0] == 201
    assert comparable(mine(obj)) == answer


@each("obj", lambda: objects("rich.yaml"), ids=called)
def test_a_rich_object_becomes_what_a_real_server_makes_of_it(oracle: Oracle, obj: Object) -> None:
    answer = comparable(theirs(oracle, obj))
    assert answer[0] == 201
    assert comparable(mine(obj)) == answer


def test_the_volume_in_an_attachment_gets_no_defaults_of_volumes(oracle: Oracle) -> None:
    volume = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "a.example.com", "volumeHandle": "h"}}
    spec = {"attacher": "a.example.com", "nodeName": "a", "source": {"inlineVolumeSpec": volume}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"}
    attachment = {**kind, "metadata": {"name": "inline-a"}, "spec": spec}
    answer = comparable(theirs(oracle, attachment))
    assert answer[0] == 201
    assert comparable(mine(attachment)) == answer


def test_every_kind_that_can_be_created_has_a_least_object() -> None:
    shown = {kind_of(obj) for obj in objects("minimal.yaml")}
    lacking = [one.kind for one in kinds.builtin() if {"create", "get"} <= {*one.verbs} and one not in shown]
    lacking = sorted({*lacking} - UNCHECKED)
    assert lacking == []

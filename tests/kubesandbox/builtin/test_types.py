"""What is known of Go's types, and that it is of today's kinds and versions."""

import gzip
import json

from kubesandbox.builtin.types import type_of
from tests.controlplane.types_data import PACKED, made_of


def test_the_data_is_made_of_what_is_there_now() -> None:
    said = json.loads(gzip.decompress(PACKED.read_bytes()))
    assert said["made_of"] == made_of(), "run python -m tests.controlplane.types_data"


def test_a_field_knows_whether_it_is_a_pointer_and_when_it_is_left_out() -> None:
    type_ = type_of("apps/v1", "Deployment")
    assert type_ is not None
    spec = type_.fields["spec"].type
    assert (spec.fields["replicas"].type.kind, spec.fields["replicas"].omit) == ("pointer", "omitempty")
    assert (spec.fields["template"].type.name, spec.fields["template"].omit) == ("core/v1.PodTemplateSpec", "")


def test_a_field_of_an_embedded_struct_is_found_with_its_way() -> None:
    type_ = type_of("v1", "Pod")
    assert type_ is not None
    probe = type_.fields["spec"].type.fields["containers"].type.inner.fields["livenessProbe"].type.inner
    assert probe.fields["httpGet"].path == "ProbeHandler.httpGet"


def test_an_unknown_kind_has_no_type() -> None:
    assert type_of("v1", "Gadget") is None

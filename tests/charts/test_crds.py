"""The CRDs of a module."""

import pytest

from hookrunner.charts.crds import crds
from hookrunner.errors import BadChart
from tests.charts.conftest import Write

CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {name}\n"


def test_every_document_of_every_file_that_is_no_doc(write: Write) -> None:
    one, two, three = (CRD.format(name=name) for name in "abc")
    files = {
        "crds/z.yaml": f"---\n{one}---\n---\n{two}",
        "crds/deep/y.yaml": three,
        "crds/doc-x.yaml": "no: crd",
        "crds/x.md": "",
    }
    directory = write(files | {"crds/_x.yaml": "a"})
    assert [crd["metadata"]["name"] for crd in crds(directory, ("doc-", "_"))] == ["c", "a", "b"]


def test_other_prefixes_can_be_skipped(write: Write) -> None:
    assert crds(write({"crds/z-a.yaml": "no: crd"}), ["z-"]) == []


def test_a_module_without_crds_has_none(write: Write) -> None:
    assert crds(write({}), ()) == []


@pytest.mark.parametrize(
    "text", [CRD.replace("/v1", "/v1beta1"), "kind: Secret\n", "text", CRD.replace("name:", "label:")]
)
def test_what_is_no_crd_is_refused_by_file_and_document(write: Write, text: str) -> None:
    with pytest.raises(BadChart, match=r"crds/a\.yaml, document 2: only CustomResourceDefinition of apiextensions"):
        crds(write({"crds/a.yaml": CRD + "---\n" + text}), ())


def test_bad_yaml_is_refused_by_file_and_document(write: Write) -> None:
    with pytest.raises(BadChart, match=r"crds/a\.yaml, document 2: not YAML: line 6"):
        crds(write({"crds/a.yaml": CRD + "---\na: ]\n"}), ())

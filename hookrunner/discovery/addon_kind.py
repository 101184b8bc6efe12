"""The kind `Addon` of `kubectl get addons`: its definition, and how requests name it.

The fields are those of the kind's first author, the discovery project of cluster-addons: the label of an addon's
objects, and `status.components` with a label selector and references. `phase`, `version`, `status` of a reference and
the condition `Ready` are added.

Sources: https://github.com/kubernetes-sigs/cluster-addons/tree/master/discovery, and for selectable fields
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#crd-selectable-fields
"""

from hookrunner.addons.files.definition_parts import APPROVAL, column, conditions_schema
from hookrunner.discovery.components import CONDITION_FIELDS
from hookrunner.model.resources import Resource
from kubetypes.json_values import JSON

ADDONS = Resource("discovery.addons.k8s.io/v1alpha1", "Addon", "addons", False)
DEFINITION = f"{ADDONS.plural}.{ADDONS.group}"

_UNAPPROVED = "unapproved, hookrunner lists what is installed in objects of this kind"
_TEXT: JSON = {"type": "string"}
_SHOWN_CONDITION = dict.fromkeys(CONDITION_FIELDS, _TEXT)


def make_definition() -> JSON:
    """The definition to apply."""
    version = {
        "name": ADDONS.api_version.rpartition("/")[2],
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
            column("Phase", "string", ".status.phase"),
            column("Version", "string", ".status.version"),
            column("Components", "string", ".status.components.current"),
            column("Age", "date", ".metadata.creationTimestamp"),
            column("Message", "string", ".status.conditions[?(@.type=='Ready')].message") | {"priority": 1},
        ],
        "selectableFields": [{"jsonPath": ".status.phase"}],
        "schema": {"openAPIV3Schema": _object_schema()},
    }
    names = {"kind": ADDONS.kind, "listKind": f"{ADDONS.kind}List", "plural": ADDONS.plural, "singular": "addon"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION, "annotations": {APPROVAL: _UNAPPROVED}},
        "spec": {"group": ADDONS.group, "names": names, "scope": "Cluster", "versions": [version]},
    }


def _object_schema() -> JSON:
    status = {
        "phase": _TEXT | {"description": "Current, InProgress, Failed or Unknown: that of all components together."},
        "version": _TEXT | {"description": "The versions that are installed, with commas between them."},
        "components": {"type": "object", "properties": _components()},
        "conditions": conditions_schema(),
    }
    return {
        "type": "object",
        "description": "An addon that is installed, with its objects. Written by hookrunner; it has no spec.",
        "properties": {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": {"type": "object"},
            "spec": {"type": "object"},
            "status": {"type": "object", "properties": status},
        },
    }


def _components() -> JSON:
    """A label selector as in `metav1.LabelSelector`, and references to objects."""
    requirement = {"key": _TEXT, "operator": _TEXT, "values": {"type": "array", "items": _TEXT}}
    selector = {
        "matchLabels": {"type": "object", "additionalProperties": _TEXT},
        "matchExpressions": {"type": "array", "items": {"type": "object", "properties": requirement}},
    }
    reference = {name: _TEXT for name in ("apiVersion", "kind", "namespace", "name", "message")}
    reference["status"] = _TEXT | {"description": "The object's status in the words of kstatus."}
    conditions = {"type": "array", "items": {"type": "object", "properties": _SHOWN_CONDITION}}
    return {
        "labelSelector": {"type": "object", "properties": selector},
        "current": _TEXT | {"description": "How many components are Current, of how many."},
        "refs": {
            "type": "array",
            "items": {"type": "object", "properties": reference | {"conditions": conditions}},
        },
    }

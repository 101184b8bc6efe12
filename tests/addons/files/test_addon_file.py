"""`addon.yaml`: what is read, what is refused, and that the JSON Schema and the page say the same. Level: pure."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

import orjson
import pytest
import yaml
from jsonschema import Draft202012Validator

from hookrunner.addons.files import addon_file
from hookrunner.addons.files.addon_file_rules import ADDON_SCHEMA
from hookrunner.addons.instance_fields import TIMEOUT, WITH_DEFAULT_IN_FILE
from hookrunner.errors import BadAddon
from hookrunner.file_schemas import as_fields
from hookrunner.model.addons import Addon, AddonObject, CommonFields, NodeLeftovers, Placeholder, RequiredObject
from hookrunner.packages.names import CHANNEL_PATTERN, COMPONENT_PATTERN, LONGEST_NAME
from kubetypes.json_values import JSON
from tests.addons.conftest import MakeTree
from tests.tables import each

SCHEMA: JSON = ADDON_SCHEMA.document
KEYS = ADDON_SCHEMA.properties
NESTED = {key: KEYS[key]["properties"] for key in ("object", "leavesOnNodes", "requires")}
OBJECT = NESTED["object"]
PAGE = (Path(__file__).parents[3] / "docs" / "addon-yaml.md").read_text()
VALIDATOR = Draft202012Validator(SCHEMA)

WHOLE = """
object: {kind: CoreDNS, plural: coredns, group: example.com, version: v1, scope: Cluster, shortNames: [cd], crd: file}
description: Names
component: core-dns
source: https://example.com/addons
channel: next
instances: many
exclusive: dns
leavesOnNodes: {interfaces: [cni0], files: [/etc/cni/net.d/10-a.conflist], rules: [iptables chains A-*, ipsets]}
requires:
  kubernetes: ' >=1.28 '
  kinds: [example.com/v1/Thing, v1/Pod]
  modules: [cert-manager >=1.2]
  addons: [kube-proxy]
  objects: [{apiVersion: v1, kind: Service, namespace: kube-system, name: kube-dns}]
text:
  "{{ .DNSDomain }}": dnsDomain
  __CORE__: {value: internal.corefile, indent: 8}
labels: {k8s-app: kube-dns}
postRender: [render/endpoint]
application: true
unmatchedPatches: warn
downgrade: refuse
driftDetection: missing
updatePolicy: notify
rollbackOnFailure: true
timeout: 1m30s
adopt: true
"""


def parse(text: str) -> Addon:
    document = addon_file.parse_document(text.encode(), "addon.yaml")
    return addon_file.to_addon(document, Path("/addons/coredns"), Path("/addons"))


def test_every_key_is_read() -> None:
    addon = parse(WHOLE)
    assert (addon.name, addon.key, addon.component, addon.source) == (
        "coredns",
        "coredns",
        "core-dns",
        "https://example.com/addons",
    )
    assert (addon.object.crd_name, addon.object.scope, addon.object.short_names, addon.object.crd) == (
        "coredns.example.com",
        "Cluster",
        ("cd",),
        "file",
    )
    assert addon.text == (Placeholder("{{ .DNSDomain }}", "dnsDomain"), Placeholder("__CORE__", "internal.corefile", 8))
    assert addon.defaults == CommonFields(
        channel="next", update_policy="notify", rollback_on_failure=True, timeout=90, adopt=True
    )
    assert addon.leaves_on_nodes == NodeLeftovers(
        ("cni0",), ("/etc/cni/net.d/10-a.conflist",), ("iptables chains A-*", "ipsets")
    )
    assert str(addon.leaves_on_nodes).endswith("conflist; rules iptables chains A-*, ipsets")
    requires = addon.requires
    assert (requires.kubernetes, requires.modules) == (">=1.28", (("cert-manager", ">=1.2"),))
    assert requires.objects == (RequiredObject("v1", "Service", "kube-system", "kube-dns"),)
    assert (addon.unmatched_patches, addon.downgrade, addon.drift) == ("warn", "refuse", "missing")


def test_missing_keys_have_their_defaults() -> None:
    addon = parse("object: {kind: MetricsServer}")
    assert (addon.object.crd_name, addon.object.api_version) == (
        "metricsservers.addons.x-k8s.io",
        "addons.x-k8s.io/v1alpha1",
    )
    assert (addon.component, addon.source, addon.instances, addon.drift) == ("coredns", "channels", "one", "repair")
    assert addon.defaults == CommonFields(channel="stable", timeout=600)


@each(
    ("kind", "plural"),
    [("CoreDNS", "corednses"), ("KubeProxy", "kubeproxies"), ("Dashboard", "dashboards"), ("Flannel", "flannels")],
)
def test_plural_is_formed_as_upstream_does(kind: str, plural: str) -> None:
    assert addon_file.default_plural(kind) == plural


KIND = "object: {kind: A}\n"


@each(
    ("text", "part"),
    [
        ("a: [", "addon.yaml: not YAML: line "),
        ("object: {kind: A}\n---\nobject: {kind: B}\n", "addon.yaml: it has 2 documents; write one"),
        ("[" * 1000, "nested too deep"),
        ("a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [{'*a, ' * 9}]\n" for n in range(9)) + "c: *none", "alias"),
        ("\0", "not YAML"),
        ("", "object is required; add it, for example `object: {kind: CoreDNS}`"),
        ("text", 'must be of type object: "string"'),
        ("object: CoreDNS", "object must be of type object"),
        ("object: {}", "object.kind is required"),
        ("object: {kind: coreDNS}", "object.kind cannot be 'coreDNS'; write letters and digits, beginning with a capi"),
        ("object: {kind: A, plural: As}", "object.plural cannot be 'As'"),
        ("object: {kind: A, group: addons}", "object.group cannot be 'addons'; write a domain such as addons.x-k8s.io"),
        (f"object: {{kind: A{'a' * 300}}}", "object.kind cannot be a text of 301 characters"),
        ("object: {kind: A, scope: namespaced}", "object.scope should be one of [Namespaced Cluster]; did you mean"),
        ("object: {kind: A, shortNames: [a, B]}", "object.shortNames[1] cannot be 'B'"),
        ("object: {kind: A, crd: auto}", "object.crd should be one of [generated file external]"),
        (KIND + "component: ../etc", "component cannot be '../etc'"),
        (KIND + "component: a..b", "component cannot be 'a..b'"),
        (KIND + "channel: 1.2", 'channel must be of type string: "number"'),
        (KIND + "channel: a/b", "channel cannot be 'a/b'; use lowercase letters, digits and -"),
        (KIND + "timeout: 600", 'timeout must be of type string: "integer"'),
        (KIND + "timeout: ten", "timeout cannot be 'ten'; use a duration of at least 1s, such as"),
        (KIND + "timeout: 10ms", "timeout cannot be '10ms'; use a duration of at least"),
        (KIND + "source: ''", "source cannot be ''"),
        (KIND + "leavesOnNodes: [cni0]", 'leavesOnNodes must be of type object: "array"'),
        (KIND + "leavesOnNodes: {files: ['']}", "leavesOnNodes.files[0] cannot be ''; write a path, such as /etc/cni"),
        (KIND + "requires: {kubernetes: new}", "requires.kubernetes 'new' is no range of versions"),
        (KIND + "requires: {kinds: [Pod]}", "requires.kinds[0] cannot be 'Pod'; write group/version/Kind"),
        (KIND + "requires: {modules: ['>=1']}", "requires.modules[0] names no module"),
        (KIND + "requires: {objects: [{kind: A}]}", "requires.objects[0].apiVersion is required"),
        (KIND + "text: {a: [b]}", "text['a'] must be the path of a value, or {value: PATH, indent: NUMBER}"),
        (KIND + "text: {a: b..c}", "text['a'] cannot be 'b..c'; write the path of a value with points"),
        (KIND + "text: {a: {indent: 2}}", "text['a'].value is required"),
        (KIND + "text: {a: {value: b, indent: -1}}", "text['a'].indent must be at least 0"),
        (KIND + "labels: {a/b/c: d}", "labels cannot have the key 'a/b/c'"),
        (KIND + "labels: {a: b c}", "labels.a is no value of a label"),
        (KIND + "labels: {a: 1}", "labels.a must be of type string"),
        (KIND + "postRender: [/bin/sh]", "postRender[0] leads out of the addon's directory"),
        (KIND + "postRender: [a/../../b]", "postRender[0] leads out of the addon's directory"),
        (KIND + "postRender: [hooks/a]", "postRender[0] is in hooks/, where it would run as a hook"),
        (KIND + "adopt: 'yes'", "adopt must be of type boolean"),
    ],
)
def test_a_wrong_value_is_refused_with_what_to_write(text: str, part: str) -> None:
    with pytest.raises(BadAddon) as refused:
        parse(text)
    assert part in str(refused.value)


def test_all_problems_are_reported_at_once_and_each_once() -> None:
    with pytest.raises(BadAddon) as refused:
        parse("object: {kind: a}\nchannel: A\ntimeout: 3\nupdatePolicy: none\nrequires: {kubernetes: x.y}")
    assert str(refused.value).count("; ") >= 5
    assert [str(refused.value).count(word) for word in ("timeout must", "updatePolicy should")] == [1, 1]


def test_unknown_keys_are_logged_with_their_paths(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    required = "{apiVersion: v1, kind: A, name: b, ns: c}"
    text = f"object: {{kind: A, shortnames: [a]}}\nchanel: x\nrequires: {{objects: [{required}]}}"
    root = tree({"a/addon.yaml": text})
    assert addon_file.read_addon(root / "a", root).object.kind == "A"
    log = capfd.readouterr().err
    for part in ("object.shortnames; did you mean 'shortNames'?", "chanel; did you mean", "requires.objects[0].ns"):
        assert part in log


@each(
    ("files", "part"),
    [
        ({"b/": ""}, "b/addon.yaml: does not exist; an addon needs it"),
        ({"b/addon.yaml/": ""}, "b/addon.yaml: cannot be read: Is a directory"),
    ],
)
def test_a_missing_or_unreadable_file_is_refused(tmp_path: Path, files: dict[str, str], part: str) -> None:
    for name in files:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        with pytest.raises(BadAddon) as refused:
            addon_file.read_addon(tmp_path / "b", tmp_path)
        assert part in str(refused.value)
        (tmp_path / name).rmdir()


def test_the_schema_is_one_and_the_model_has_its_defaults_and_words() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    VALIDATOR.validate(orjson.loads(orjson.dumps(addon_file.parse_document(WHOLE.encode(), ""))))
    assert SCHEMA["$id"].endswith("/addon.schema.json")
    plain = parse("object: {kind: MetricsServer}")
    assert plain == Addon("coredns", "coredns", plain.directory, plain.root, plain.object, component="coredns")
    assert plain.object == AddonObject("MetricsServer", "metricsservers")
    fields = {**get_type_hints(Addon), **get_type_hints(AddonObject), **get_type_hints(CommonFields)}
    choices = {key: rule["enum"] for key, rule in {**KEYS, **OBJECT}.items() if "enum" in rule and key != "adopt"}
    typed = as_fields({"drift" if key == "driftDetection" else key: words for key, words in choices.items()})
    assert {name: get_args(fields[name]) for name in typed} == typed


def test_the_schema_has_the_patterns_of_names_that_code_judges_too() -> None:
    spoken = (name for name, rule in KEYS.items() if rule["description"].startswith("Default of `spec."))
    assert tuple(spoken) == WITH_DEFAULT_IN_FILE
    assert KEYS["channel"]["pattern"] == f"^({CHANNEL_PATTERN})?$"
    assert KEYS["component"]["pattern"].endswith(f"{COMPONENT_PATTERN}$")
    assert KEYS["timeout"]["pattern"] == f"^({TIMEOUT})?$"
    assert {KEYS[name]["maxLength"] for name in ("channel", "component")} == {LONGEST_NAME}


def test_the_pages_example_has_every_key_and_shows_the_defaults() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    document = yaml.safe_load(example)
    assert document.keys() == KEYS.keys()
    assert {key: document[key].keys() for key in NESTED} == {key: inner.keys() for key, inner in NESTED.items()}
    defaults = {key: rule["default"] for key, rule in SCHEMA["properties"].items() if "default" in rule}
    shown = defaults.keys() - {"description", "leavesOnNodes", "requires", "text", "labels", "postRender", "patches"}
    assert {key: document[key] for key in shown} == {key: defaults[key] for key in shown}


def test_every_key_has_a_row_on_the_page() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    keys = [f"{key}.{inner}" for key, table in NESTED.items() for inner in table]
    rows = [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]
    assert sorted(rows) == sorted([*keys, *(key for key in KEYS if key not in NESTED)])


@each(
    "document",
    [
        {"object": {"kind": "A"}},
        {"object": {"kind": "A"}, "tags": ["x"]},
        {"object": {"kind": "A", "group": "b.c", "shortNames": []}, "channel": "", "timeout": "1h30m"},
        {"object": {"kind": "A"}, "text": {"a": "b.c", "d": {"value": "e", "indent": 3}}},
        {"object": {"kind": "A"}, "text": {"a": {"indent": 3}}},
        {"object": {"kind": "A"}, "text": {" ": "a"}},
        {"object": {"kind": "A"}, "labels": {"a.b/c": ""}},
        {"object": {"kind": "A"}, "labels": {"-": ""}},
        {"object": {"kind": "A"}, "requires": {"kinds": ["v1/A", "a.b/v1/A"]}},
        {"object": {"kind": "A"}, "requires": {"kinds": ["A"]}},
        {"object": {"kind": "A"}, "requires": {"addons": ["a.b"]}},
        {"object": {"kind": "A"}, "requires": {"objects": [{}]}},
        {"object": {"kind": "A"}, "component": "a..b"},
        {"object": {"kind": "A"}, "exclusive": "cni"},
        {"object": {"kind": "A"}, "leavesOnNodes": {"rules": ["ipsets A-*"]}},
        {"object": {"kind": "A"}, "leavesOnNodes": {"interfaces": [1]}},
        {"object": {"kind": "A"}, "postRender": [""]},
        {"object": {"kind": "A"}, "timeout": "1d"},
        {"object": {"kind": "A"}, "adopt": None},
        {"object": {"kind": "A"}, "adopt": 1},
        {"object": {"kind": "A"}, "adopt": "never"},
        {"object": {"kind": "A"}, "adopt": "always"},
        {"object": None},
        {"object": {"kind": "a"}},
        {"object": {"kind": "A", "scope": "cluster"}},
        [],
    ],
)
def test_the_schema_and_the_code_take_the_same(document: JSON) -> None:
    try:
        addon_file.parse_document(orjson.dumps(document), "addon.yaml")
        taken = True
    except BadAddon:
        taken = False
    assert VALIDATOR.is_valid(document) == taken

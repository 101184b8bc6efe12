"""Whatever a client sends is applied or refused; nothing breaks. Level: pure."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from kubesandbox.fields import Write, applied, updated
from kubesandbox.status import Refused
from kubetypes.json_values import JSON
from tests.kubesandbox.fields.widgets import SPEC, widget, widget_kind

WIDGET = widget_kind("x.test")
TIME = "2026-01-01T00:00:00Z"
WORDS = st.sampled_from([*SPEC["properties"], "a", "id", "port", "name", "annotations", "finalizers", "labels"])
ANYTHING: st.SearchStrategy[JSON] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "TCP"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
SPECS = st.dictionaries(WORDS, ANYTHING, max_size=4)
KEYS = st.sampled_from([".", "f:spec", "f:ports", 'k:{"port":80}', "k:{", "v:1", "v:", "i:1", "i:x", "x", "", "x:y"])
FIELDS: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.just({}) | ANYTHING, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"fieldsV1": FIELDS},
        optional={
            "manager": st.sampled_from(["a", "", 3]),
            "operation": st.sampled_from(["Apply", "Update", "x", None]),
            "apiVersion": st.sampled_from(["x.test/v1", "x.test/v2", "x.test/v9", "v1", None]),
            "fieldsType": st.sampled_from(["FieldsV1", "FieldsV2"]),
            "time": st.sampled_from([TIME, "2026-01-01T00:00:00.5+01:00", "yesterday", None, 3]),
            "subresource": st.sampled_from(["", "status", 1]),
        },
    )
    | ANYTHING,
    max_size=3,
)


@given(SPECS, ANYTHING, SPECS, st.booleans())
def test_any_configuration_is_applied_or_refused(spec: JSON, metadata: JSON, live: JSON, force: bool) -> None:
    config = {**widget("x.test", spec), "metadata": metadata}
    for there in (None, widget("x.test", live)):
        with suppress(Refused):
            made = applied(there, config, WIDGET, Write("kubectl", TIME), force)
            assert applied(made, config, WIDGET, Write("kubectl", TIME), False)["spec"] == made["spec"]


@given(ENTRIES, SPECS)
def test_any_managed_fields_are_taken_or_left(entries: JSON, spec: JSON) -> None:
    live = updated(None, widget("x.test", {"text": "a"}), WIDGET, Write("m", TIME))
    new = {**live, "metadata": {**live["metadata"], "managedFields": entries}, "spec": spec}
    for entry in updated(live, new, WIDGET, Write("n", TIME))["metadata"].get("managedFields", ()):
        assert entry["fieldsType"] == "FieldsV1"
        assert entry["fieldsV1"]

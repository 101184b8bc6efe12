"""What a release record keeps of a chart: the same JSON that Helm writes there (`pkg/chart/v2/chart.go`).

Subcharts are left out, as in Helm. Bytes are base64, because files need not be text.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

from hookrunner.charts.chart_files import CHART
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents

_REQUIREMENTS = "requirements.yaml"
_LOCKS, _VALUES, _SCHEMA = ("Chart.lock", "requirements.lock"), "values.yaml", "values.schema.json"
_SUBCHART = re.compile(r"charts/[^/_.][^/]*/Chart\.yaml")
_TEXTS = ("name", "home", "version", "description", "icon", "apiVersion", "condition", "tags", "appVersion")
_FIELDS = (
    *_TEXTS,
    "kubeVersion",
    "type",
    "sources",
    "keywords",
    "maintainers",
    "deprecated",
    "annotations",
    "dependencies",
)


def synthetic(name: str) -> bytes:
    """The `Chart.yaml` of a module that has none ."""
    return f"name: {name}\nversion: 0.2.0\napiVersion: v2\n".encode()


def metadata(files: Mapping[str, bytes]) -> dict[str, Any]:
    """`Chart.yaml` as Helm keeps it: without unknown keys; empty if it cannot be read (Helm reports that)."""
    document = _document(files.get(CHART, b"")) | _document(files.get(_REQUIREMENTS, b""))
    known = {key: document[key] for key in _FIELDS if document.get(key) not in (None, "", [], {})}
    return known | {key: str(known[key]) for key in (*_TEXTS, "kubeVersion") if key in known}


def missing(files: Mapping[str, bytes], metadata: Mapping[str, Any]) -> list[str]:
    """Subcharts that `Chart.yaml` names and that are missing in `charts/`."""
    present = {str(_document(data).get("name")) for name, data in files.items() if _SUBCHART.fullmatch(name)}
    wanted = (str(item.get("name")) for item in metadata.get("dependencies", ()) if isinstance(item, dict))
    return [name for name in wanted if name not in present]


def chart(files: Mapping[str, bytes]) -> JSON:
    """The record's `chart`."""
    lock = next((_document(files[name]) for name in _LOCKS if name in files), None)
    schema = files.get(_SCHEMA)
    return {
        "metadata": metadata(files),
        "lock": lock,
        "templates": [_file(name, data) for name, data in files.items() if name.startswith("templates/")],
        "values": _document(files.get(_VALUES, b"")),
        "schema": None if schema is None else _encoded(schema),
        "files": [_file(name, data) for name, data in files.items() if _other(name)],
    }


def _other(name: str) -> bool:
    known = name in (CHART, *_LOCKS, _VALUES, _SCHEMA)
    return not known and (not name.startswith(("templates/", "charts/")) or name.endswith(".prov"))


def _file(name: str, data: bytes) -> JSON:
    return {"name": name, "data": _encoded(data)}


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _document(text: bytes) -> dict[str, Any]:
    try:
        document = next(documents(text, YAML_1_1), None)
    except BadDocument:
        return {}
    return document if isinstance(document, dict) else {}

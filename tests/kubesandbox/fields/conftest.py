"""A real API server to compare with, and Widgets on it."""

from collections.abc import Callable, Iterator

import pytest

from kubesandbox.kinds import Kinds, builtin
from kubetypes.json_values import JSON
from tests.kubesandbox.fields.replay import Replay
from tests.kubesandbox.fields.widgets import definition, widget, widget_kind
from tests.kubesandbox.oracle import Oracle

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def group(oracle: Oracle) -> Iterator[str]:
    """The group of Widgets, served in both versions."""
    group = f"{oracle.unique('widgets')}.fields.test"
    oracle.made(DEFINITIONS, definition(group))
    versions = [f"/apis/{group}/{version}/namespaces/{oracle.namespace}/widgets" for version in ("v1", "v2")]
    oracle.until(lambda: all(oracle.ask("GET", path)[0] == 200 for path in versions))
    yield group
    oracle.remove(f"{DEFINITIONS}/widgets.{group}")


@pytest.fixture
def replay(oracle: Oracle, group: str, request: pytest.FixtureRequest) -> Replay:
    """A Widget that is not there yet."""
    test = getattr(request.node, "originalname", ""), sorted(_rows(request).items())
    return Replay(oracle, widget_kind(group), oracle.unique(test))


def _rows(request: pytest.FixtureRequest) -> dict[str, object]:
    """The parameters of a test, without those of fixtures."""
    params = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    return {name: value for name, value in params.items() if name != "oracle"}


@pytest.fixture
def stated(replay: Replay, group: str) -> Callable[..., JSON]:
    """That Widget as a configuration: its spec, and what else its metadata has."""

    def configuration(spec: JSON, *, version: str = "v1", **metadata: JSON) -> JSON:
        return widget(group, spec, version=version, name=replay.name, **metadata)

    return configuration


@pytest.fixture(scope="session")
def kinds() -> Kinds:
    """The built-in kinds."""
    return Kinds(builtin())

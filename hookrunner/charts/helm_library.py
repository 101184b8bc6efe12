"""Helm's own engine in this process, by `helm_python`. Only the render worker may load it: the library brings Go's
runtime, which does not survive a fork, and a template can use up all memory.

The calls go below the package's Python classes, whose signatures hide the cluster's version and its API versions.
"""

from contextlib import closing
from functools import lru_cache

import helm_python
import orjson
from helm_python import _native

from hookrunner.charts.helm_engine import RenderOptions
from hookrunner.errors import BadChart, RenderFailed
from kubetypes.json_values import JSON

_MOST_USERS = 8


class HelmLibrary:
    """Keeps its connections to the cluster, one for each user that it acts as, so that `lookup` need not repeat
    discovery."""

    def __init__(self) -> None:
        self._connect = lru_cache(_MOST_USERS)(_connect)

    def render(self, archive: bytes, values: JSON, options: RenderOptions) -> dict[str, str]:
        """Render; the texts by template path. Raises BadChart, or RenderFailed with Helm's unchanged message.

        A chart is loaded for each render, because Helm removes disabled subcharts from it permanently.
        """
        try:
            with closing(helm_python.Chart.load_archive(archive)) as chart:
                return self._render(chart._raw(), values, options)
        except helm_python.HelmChartLoadError as error:
            raise BadChart(str(error)) from None
        except helm_python.HelmError as error:
            raise RenderFailed(str(error)) from None

    def _render(self, chart: object, values: JSON, options: RenderOptions) -> dict[str, str]:
        parts = orjson.dumps(values).decode(), orjson.dumps(_release(options)).decode()
        if options.lookup:
            text = _native.call_string("helm_render_with_config", self._connect(options.user)._raw(), chart, *parts)
        else:
            text = _native.call_string("helm_render", chart, *parts)
        texts: dict[str, str] = orjson.loads(text)
        return texts


def _connect(user: str) -> helm_python.Config:
    """Found by the environment: KUBECONFIG, `~/.kube/config`, or the service account of the pod. It closes itself."""
    return helm_python.Config(kube_as_user=user or None)


def _release(options: RenderOptions) -> dict[str, JSON]:
    return {
        "name": options.name,
        "namespace": options.namespace,
        "revision": options.revision,
        "is_install": options.install,
        "is_upgrade": not options.install,
        "kube_version": options.kube_version,
        "api_versions": options.api_versions,
    }

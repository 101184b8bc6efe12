"""Opens sources by their locations, with the connections that they share.

    async with HttpsReader() as reader:
        opener = SourceOpener(reader, client, timeout=60.0)
        source = opener.open(parse_location("https://example.com/addons", base), kubernetes="v1.34.2")

One reader serves all web servers, so that unchanged channels stay known from one run to the next. Without a client, as
offline commands have none, objects of the cluster are a source that is down, and the message says why.
"""

from hookrunner.errors import PackageError
from hookrunner.kube.client import Client
from hookrunner.packages.cluster_source import ClusterSource
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.https_source import HttpsSource
from hookrunner.packages.source_locations import (
    ClusterLocation,
    DirectoryLocation,
    PackageSource,
    SourceLocation,
    WebLocation,
)


class SourceOpener:
    """Makes sources. `timeout` are seconds for one channel or package of a web server; 0 is no limit."""

    def __init__(self, reader: HttpsReader, client: Client | None, timeout: float) -> None:
        self._reader = reader
        self._client = client
        self._timeout = timeout

    def open(self, location: SourceLocation, kubernetes: str) -> PackageSource:
        """The source at a location, for a cluster of this version. Raises PackageError with the reason Unreachable for
        objects of a cluster without one."""
        match location:
            case DirectoryLocation(path):
                return DirectorySource(path)
            case WebLocation(url):
                return HttpsSource(url, self._reader, kubernetes, self._timeout)
            case ClusterLocation():
                if self._client is None:
                    text = "needs a cluster; name a directory or a web server with --addon-source"
                    raise PackageError("Unreachable", f"the source {location} {text}")
                return ClusterSource(location, self._client)

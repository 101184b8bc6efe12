"""Puts together what sources of packages share: connections, logins, keys, a directory for repositories in git.

async with open_sources(settings, locations_of(addons, settings.addons), client) as opener:
    source = opener.open("coredns", kubernetes="v1.34.2")
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from hookrunner.claimed_directories import claimed_directory
from hookrunner.kube.client import Client
from hookrunner.packages.git.git_checkouts import GitCheckouts
from hookrunner.packages.host_credentials import open_credentials
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.oci.registry_client import RegistryClient
from hookrunner.packages.package_fetcher import SourceOpener
from hookrunner.packages.signatures.signing_keys import KeyFiles
from hookrunner.packages.source_locations import SourceLocation
from hookrunner.packages.web_proxies import WebProxies
from hookrunner.settings import Settings


@asynccontextmanager
async def open_sources(
    settings: Settings, locations: Mapping[str, SourceLocation | str], client: Client | None
) -> AsyncIterator[SourceOpener]:
    """Opens sources at these locations, by addon. Closes the connections when it is left. Raises BadSetting, and
    StartRefused for a key that cannot be used."""
    addons = settings.addons
    keys = await asyncio.to_thread(KeyFiles, addons.keys) if addons.keys else None
    credentials = open_credentials(addons.credentials, client)
    with claimed_directory(settings.hooks.tmp_dir, "checkouts") as directory:
        async with HttpsReader(proxies=WebProxies(settings.hooks.environ)) as reader:
            checkouts = GitCheckouts(directory, reader, credentials, addons.fetch_timeout)
            registries = RegistryClient(reader, credentials)
            yield SourceOpener(reader, client, addons.fetch_timeout, locations, registries, checkouts, keys)

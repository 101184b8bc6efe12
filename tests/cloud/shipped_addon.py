"""The objects of the shipped addon of the cloud controller manager, its Helm hooks among them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from hookrunner import settings
from hookrunner.addons.addon_discovery import find_addons
from hookrunner.cli.shared import quiet
from hookrunner.modules.offline import stock_capabilities
from hookrunner.testing.addons.addon_bench import addon_bench, offline_source
from kubetypes.json_values import JSON

ADDON = Path(__file__).parents[2] / "addons" / "cloud-controller-manager"


def objects_of(*specs: JSON) -> list[list[Any]]:
    """What instances with these specs install, in a thread of its own: tests have a loop already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _build(specs)).result()


def cleaning_objects() -> list[Any]:
    """The objects of the case that cleans up, the Job among them."""
    (objects,) = objects_of(yaml.safe_load((ADDON / "tests" / "clean.in.yaml").read_text())["spec"])
    return objects


async def _build(specs: tuple[JSON, ...]) -> list[list[Any]]:
    flags = {"addons-dir": str(ADDON.parent), "modules-dir": ":", "hooks-dir": ":"}
    loaded = settings.load(flags, "hookrunner", {})
    with quiet():
        catalog = find_addons([ADDON.parent])
    instance = yaml.safe_load((ADDON / "example.yaml").read_text())
    async with addon_bench(loaded, catalog, partial(offline_source, loaded.addons)) as bench:
        built = [await bench.build(instance | {"spec": spec}, (), stock_capabilities()) for spec in specs]
    return [[*instance.objects, *instance.helm_hooks] for instance in built]

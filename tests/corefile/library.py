"""The library of the CoreDNS addon's hook, which is on no path: `corefile`, `migration`, `releases`."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

_PACKAGE = ModuleType("coredns_lib")
_PACKAGE.__path__ = [str(Path(__file__).parents[2] / "addons/coredns/hooks/lib")]
sys.modules[_PACKAGE.__name__] = _PACKAGE

corefile = import_module("coredns_lib.corefile")
migration = import_module("coredns_lib.corefile_migration")
releases = import_module("coredns_lib.coredns_releases")

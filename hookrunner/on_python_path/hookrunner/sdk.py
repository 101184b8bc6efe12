"""`hookrunner.sdk` for a Python in which hookrunner is not installed: loads the real one, two directories up.

hookrunner puts the directory above this one at the end of a Python hook's PYTHONPATH. There is no `__init__.py` here,
so that a hookrunner that is installed in that Python is found in place of this one, and a hook's own `hookrunner/`
beside it.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from os.path import abspath, dirname, join

_package = join(dirname(dirname(dirname(abspath(__file__)))), "sdk")
_spec = spec_from_file_location(__name__, join(_package, "__init__.py"), submodule_search_locations=[_package])
assert _spec
assert _spec.loader
sys.modules[__name__] = _module = module_from_spec(_spec)
_spec.loader.exec_module(_module)

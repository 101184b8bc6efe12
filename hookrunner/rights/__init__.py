"""Which rights are needed by hooks, modules, addons and hookrunner itself, found without a cluster: `hookrunner rbac`.

Each source of rights has a file with functions that return `Right`s; `needed_rights.py` puts them together.
"""

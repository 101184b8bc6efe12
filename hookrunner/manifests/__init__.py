"""What happens to the objects of a package between its files and the cluster (see docs/addons.md).

Every step takes objects and returns new ones; nothing is changed in place, and no step talks to a cluster. Only
`kustomize.py` and `post_render.py` start processes. In the order of a build: `placeholders`, `documents`, `namespaces`,
`images`, `labels`, `post_render`, `application`, `patches`, and then `checks` and the order of kinds.
"""

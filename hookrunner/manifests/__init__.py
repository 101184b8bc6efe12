"""What happens to the objects of a package between its files and the cluster (see docs/packaging-addons.md).

Every step takes objects and returns new ones; nothing is changed in place, and no step talks to a cluster. Only
those in `programs/` start processes. In the order of a build: `placeholders`, `documents`, `object_metadata`, `images`,
`programs/post_render`, `object_set`, `patches`.
"""

"""What hookrunner and the sandbox share: values and documents of the Kubernetes API within bounds, patterns, CEL, names
of kinds, sets of managed fields, bounded HTTP connections, and dataclasses. It imports neither."""

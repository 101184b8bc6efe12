"""What hookrunner and the sandbox share: values and documents of the Kubernetes API within bounds, patterns, CEL, names
of kinds, sets of managed fields, and bounded HTTP connections. It imports neither."""

"""What hookrunner and the sandbox both know of the Kubernetes API: documents, patterns, CEL. It imports neither."""

"""The test bed: a real Kubernetes control plane, built from Go modules and run on this machine (see README.md)."""

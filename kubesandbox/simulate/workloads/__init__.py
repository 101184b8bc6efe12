"""Controllers of workloads: what keeps Pods running, by ReplicaSets, revisions and indexes."""

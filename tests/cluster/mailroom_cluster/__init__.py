"""A whole Mailroom on a real one-node Kubernetes, with faults while mail flows (`make cluster-test`)."""

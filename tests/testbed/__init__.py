"""A throw-away Kubernetes cluster for tests: one binary, no image pulled, nothing left behind (README.md)."""

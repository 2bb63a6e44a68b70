"""What the tests against a running agent share: processes, bundles, clients, models."""

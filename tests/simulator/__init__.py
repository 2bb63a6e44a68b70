"""The simulator of policy sync, and the validator of what happened in it; README.md says how it is run."""

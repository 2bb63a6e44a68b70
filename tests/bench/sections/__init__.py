"""One module for each part of the benchmark; README.md says what a section is."""

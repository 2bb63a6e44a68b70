"""What the command line reports in one line, without a traceback."""


class Failure(Exception):
    """Something a reader can act on: the text says what is wrong and what to do."""

"""The errors that a user is meant to read: one line, no traceback, nothing half-written."""


class InputError(ValueError):
    """Bad input: exit code 2. The text is one clear line: what came, what was wanted, and which config key mends it."""


class Failure(RuntimeError):
    """Good input and yet no result: exit code 1. The text is one clear line: what happened, where, and what may help."""

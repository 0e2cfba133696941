"""The one error that a user is meant to read: no traceback, exit code 2, nothing half-written."""


class InputError(ValueError):
    """Bad input. The text is one clear line: what came, what was wanted, and which config key mends it."""

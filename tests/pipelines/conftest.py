"""Commands that run inside the tests' own process set up Python's logging; each test gets it back as it was."""

import logging

import pytest


@pytest.fixture(autouse=True)
def _logging_as_it_was():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in list(root.manager.loggerDict)}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in list(root.manager.loggerDict):
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))

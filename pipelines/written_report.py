from typing import Any


def write_report(state: Any) -> None: ...

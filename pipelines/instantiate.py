"""Hydra's `instantiate` for resolved plain values, with a one-line error."""

from __future__ import annotations

from typing import Any

from ..data.errors import InputError


def instantiate(node: dict[str, Any], **more: Any) -> Any:
    """The object that node['_target_'] makes of the other keys and of `more`; InputError names the target and what it did not like."""
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate as build

    try:  # in two steps, because Hydra would turn dataclasses among `more` into plain dicts
        return build(node, _convert_="all", _partial_=True)(**more)
    except (InstantiationException, TypeError, ValueError) as error:
        cause = error.__cause__ or error
        raise InputError(f"{node.get('_target_')}: {str(cause).splitlines()[0]}") from error

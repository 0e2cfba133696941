"""sceneloom: photos go in, a scene you can walk through comes out."""

from ._version import __version__ as __version__

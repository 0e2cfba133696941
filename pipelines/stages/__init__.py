"""Stages of a run: load -> train -> evaluate -> export. Each moves a frozen State forward and can be run alone."""

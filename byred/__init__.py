"""A daemon that runs many coding agents on one machine and loses nothing."""

__version__ = "0.1.0"

"""The settings of the daemon: what can be set, where it is read from, what a change of it means.

Acting on them is the daemon's: no other room imports this one, each is handed what it needs.
"""

from byred.settings.load import SettingsError, find_config, load
from byred.settings.model import Settings
from byred.settings.reload import Changes, diff, watch
from byred.settings.values import PortRange, parse_duration

__all__ = [
    "Changes",
    "PortRange",
    "Settings",
    "SettingsError",
    "diff",
    "find_config",
    "load",
    "parse_duration",
    "watch",
]

"""How a server's process tree is born, contained and ended: one protocol, several ways.

`contract` has the words. `choose` gives the launcher that the settings name, `survey` tells which
ones this machine allows and why.
"""

from byred.agents.launchers.choice import Capability, choose, survey

__all__ = ["Capability", "choose", "survey"]

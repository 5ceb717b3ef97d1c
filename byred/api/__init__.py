"""How the daemon is reached: the table of commands and the faces that show it."""

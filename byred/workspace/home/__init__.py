"""What a task owns besides its tree: CODEX_HOME, environment, ports, identity, sandbox."""

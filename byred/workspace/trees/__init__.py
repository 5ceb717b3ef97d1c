"""Worktrees: made, mended, taken from the pool, registered with git."""

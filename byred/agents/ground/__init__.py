"""What a task stands on, made or found again before its server starts, and kept turn by turn."""

"""What a repository says of its tasks, and the commands that are run for it."""

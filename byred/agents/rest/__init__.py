"""The work of tasks that have no run: seen, brought home, taken away, brought back."""

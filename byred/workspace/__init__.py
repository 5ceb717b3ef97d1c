"""What a task owns: worktree, home, ports, environment, checkpoints; and how its work comes back.

Owns git and the files below the roots that it is given. Knows no task's state and no SQL: callers
hand in plain values and get plain values back, and lease durably what is chosen here.
"""

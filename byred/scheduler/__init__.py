"""Which task runs when: intake, order, limits, retries that fall due, and recovery at start."""

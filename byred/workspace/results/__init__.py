"""What came of the work: seen, exported, merged."""

"""One server's talk with one task's agent: what is said, heard and known again."""

"""SQLite: the schema, the named queries, the one writer, and one module a table."""

"""The shared parts of destinations that carry out migrations: conversions of values, sessions, and the ledger."""

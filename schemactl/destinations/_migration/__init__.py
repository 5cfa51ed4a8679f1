"""What destinations share that carry out migrations: conversions of values, sessions, and the ledger."""

"""``schemactl migrate``: schema, destination's catalogue -> changes -> plan -> apply, with a ledger."""

"""``schemactl migrate``: schema, destination's catalog -> changes -> plan -> apply, with a ledger."""

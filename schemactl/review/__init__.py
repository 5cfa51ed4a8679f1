"""Reviews of schema changes: who they break, rules, severities, silences, one report."""

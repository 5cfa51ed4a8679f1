"""Says whom the changes of a schema break: rules, severities, silences, one report."""

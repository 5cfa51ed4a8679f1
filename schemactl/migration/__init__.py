"""Plan the steps that make a destination match a schema; pure functions, other packages run the plans."""

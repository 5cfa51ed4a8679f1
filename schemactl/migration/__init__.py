"""From changes to a plan: the steps that bring one destination to a schema; pure, what runs them is elsewhere."""

"""What table formats on files (Delta, Iceberg) share: loads of several tables, all or nothing, undone where killed."""

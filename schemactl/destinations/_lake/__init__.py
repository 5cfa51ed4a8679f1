"""Shared parts of table formats on files (Delta, Iceberg): loads of several tables, all or nothing."""

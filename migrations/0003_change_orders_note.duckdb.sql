-- 0003_change_orders_note for duckdb: schema shop
-- from zGlgqg4oUhGk7tzDK5MyQ82fGnAmr7k0ohoN6t6Zj8g= to rhVNslSXhX+sC4/YQhgU8rYUZi0Z/CR/VR5zPXDugG8=
-- Read only: 0003_change_orders_note.json runs, in the dataset of each destination.

-- 1. ChangeType orders.note: rewrites the table
ALTER TABLE "shop"."orders" ALTER COLUMN "note" SET DATA TYPE VARCHAR USING CAST("note" AS VARCHAR);

-- 0002_numbers for duckdb: schema shop
-- from rhVNslSXhX+sC4/YQhgU8rYUZi0Z/CR/VR5zPXDugG8= to zGlgqg4oUhGk7tzDK5MyQ82fGnAmr7k0ohoN6t6Zj8g=
-- Read only: 0002_numbers.json runs, in the dataset of each destination.

-- 1. AddColumn orders.paid: safe
ALTER TABLE "shop"."orders" ADD COLUMN "paid" BIGINT;

-- 2. ChangeType orders.note: rewrites the table
ALTER TABLE "shop"."orders" ALTER COLUMN "note" SET DATA TYPE BIGINT USING list_transform(["note"], lambda "_value": CASE WHEN "_value" IS NULL THEN NULL ELSE CASE WHEN (CAST(TRY_CAST("_value" AS BIGINT) AS VARCHAR) = "_value") THEN CAST("_value" AS BIGINT) ELSE coalesce(CAST(_schemactl_coerced("_value", '[{"data_type": "text"}, {"data_type": "bigint"}, false, true]') AS BIGINT), error('a value does not survive: ' || left(CAST("_value" AS VARCHAR), 200))) END END)[1] /* TRY(CAST("note" AS BIGINT)) if it gives the same for all values */;

-- 0001_create_orders for duckdb: schema shop
-- from no schema to rhVNslSXhX+sC4/YQhgU8rYUZi0Z/CR/VR5zPXDugG8=
-- Read only: 0001_create_orders.json runs, in the dataset of each destination.

-- 1. CreateTable _dlt_version: safe
CREATE TABLE "shop"."_dlt_version" ("version" BIGINT NOT NULL, "engine_version" BIGINT NOT NULL, "inserted_at" TIMESTAMP WITH TIME ZONE NOT NULL, "schema_name" VARCHAR NOT NULL, "version_hash" VARCHAR NOT NULL, "schema" VARCHAR NOT NULL);

-- 2. CreateTable _dlt_loads: safe
CREATE TABLE "shop"."_dlt_loads" ("load_id" VARCHAR NOT NULL, "schema_name" VARCHAR, "status" BIGINT NOT NULL, "inserted_at" TIMESTAMP WITH TIME ZONE NOT NULL, "schema_version_hash" VARCHAR);

-- 3. CreateTable orders: safe
CREATE TABLE "shop"."orders" ("id" BIGINT NOT NULL, "amount" BIGINT, "note" VARCHAR, "old" VARCHAR);

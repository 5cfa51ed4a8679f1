-- 0004_numbers for duckdb: schema shop
-- from rhVNslSXhX+sC4/YQhgU8rYUZi0Z/CR/VR5zPXDugG8= to ifS81+uERHbH0WHoKEybUEB/T43DC+ru0lY5qYahcMU=
-- Read only: 0004_numbers.json runs, in the dataset of each destination.

-- 1. ChangeType orders.amount: rewrites the table
ALTER TABLE "shop"."orders" ALTER COLUMN "amount" SET DATA TYPE VARCHAR USING CAST("amount" AS VARCHAR);

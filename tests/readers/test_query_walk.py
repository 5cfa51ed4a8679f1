"""Which columns queries and statements of all kinds use, in several dialects.

A use is ``column clause``, with ``!`` if the column is computed and ``#`` if the result has a fixed list of columns;
``*`` is for all columns of ``orders``. A line with a question mark is a use that the query does not tell, and why.
"""

# ruff: noqa: E501 - a query is one line

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from schemactl.errors import Location
from schemactl.readers.sql_texts import read_sql
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Reader

ORDERS = ("id", "amount", "buyer", "note", "status")
TABLES = ReadTables({"orders": ORDERS, "orders__items": ("order_id", "sku", "qty")}, "raw")
READER = Reader("query", "q.sql", Location("q.sql"))

KINDS = r"""
duckdb: select 1 from raw.orders order by note
    note order by
duckdb: select * exclude (note) from raw.orders
    amount select *, buyer select *, id select *, note select, status select *
duckdb: select * exclude note replace (amount/100 as amount) from raw.orders
    amount select!, buyer select *, id select *, note select, status select *
duckdb: select * rename (note as remark) from raw.orders
    amount select *, buyer select *, id select *, note select, status select *
bigquery: select * except (note) from raw.orders
    amount select *, buyer select *, id select *, note select, status select *
snowflake: select * exclude (note) rename (id as order_id) from raw.orders
    amount select *, buyer select *, id select, note select, status select *
snowflake: select * ilike 'a%' from raw.orders
    * select *
    ? orders.*: columns by pattern or position
duckdb: select columns('a.*') from raw.orders
    ? orders.*: columns by pattern or position
duckdb: select max(columns(*)) from raw.orders
    ? orders.*: columns by pattern or position
duckdb: from raw.orders
    * select *
duckdb: from raw.orders select id where note > 1
    id select, note where!
duckdb: select id, count(*) from raw.orders group by 1 order by 2
    id group by, id select
duckdb: select status, sum(amount) from raw.orders group by all
    amount select!, status group by, status select
duckdb: select id, note from raw.orders order by all
    id order by, id select, note order by, note select
duckdb: select amount * 2 as dbl, dbl + 1 as more from raw.orders
    amount select!
duckdb: select amount as a, a + 1 as more from raw.orders
    amount select, amount select!
snowflake: select amount as a from raw.orders where a > 3
    amount select, amount where!
postgres: select o from raw.orders o
    ? orders.*: a whole row as a value
postgres: select orders from raw.orders
    ? orders.*: a whole row as a value
duckdb: select count(*), count(o.*) from raw.orders o
duckdb: select 1 from raw.orders o where exists (select * from raw.orders__items i where i.order_id = o.id)
    id where!, orders__items.order_id where!
duckdb: select hash(*) from raw.orders
    ? orders.*: a whole row as a value
postgres: select to_jsonb(o.*) from raw.orders o
    ? orders.*: a whole row as a value
postgres: select row_to_json(x) from (select id, note from raw.orders) x
    id select, id select!, note select, note select!
duckdb: select buyer.name, orders.buyer.name, raw.orders.buyer.name from raw.orders
    buyer select
duckdb: select raw.orders.id from raw.orders
    id select
postgres: select note->>'x', note #>> '{a,b}' from raw.orders
    note select!
snowflake: select note:a.b::int from raw.orders
    note select!
snowflake: select f.value:sku from raw.orders o, lateral flatten(input => o.buyer) f
    buyer join!
bigquery: select i.sku from raw.orders o, o.buyer as i
    buyer join!
bigquery: select i.sku from raw.orders o, unnest(o.buyer) as i
    buyer join!
bigquery: select i.sku from raw.orders o cross join unnest(buyer) as i
    buyer join!
redshift: select i.sku from raw.orders o, o.buyer i
    buyer join!
spark: select x from raw.orders lateral view explode(buyer) t as x
    buyer from!
spark: select explode(buyer) as x, id from raw.orders
    buyer select!, id select
postgres: select e.x from raw.orders o cross join lateral jsonb_array_elements(o.buyer) as e(x)
    buyer join!
tsql: select top 3 [Id] from [raw].[orders] o cross apply string_split(o.note, ',') s
    id select, note join!
duckdb: pivot raw.orders on status using sum(amount) group by id
    * select *, amount from!, id from!, status from!
    ? orders.*: a pivot
duckdb: select * from (pivot raw.orders on status using sum(amount) group by id)
    * select *, amount from!, id from!, status from!
    ? orders.*: a pivot
snowflake: select * from raw.orders pivot(sum(amount) for status in ('a','b')) as p
    * select *, amount from!, status from!
    ? orders.*: a pivot
duckdb: select * from (select id, amount, status from raw.orders) pivot (sum(amount) for status in ('a'))
    amount from!, amount group by, amount select, id group by, id select, status from!, status group by, status select
duckdb: select v from raw.orders unpivot (v for n in (amount, note))
    amount from!, note from!
duckdb: unpivot raw.orders on amount, note into name n value v
    amount from!, buyer select *, id select *, note from!, status select *
postgres: with recursive t as (select id, note from raw.orders union all select t.id, o.note from t join raw.orders o on o.amount = t.id) select id from t
    amount join!, id join!, id select#, note select#
postgres: with recursive t(a, b) as (select id, note from raw.orders union all select a + 1, b from t) select a from t where b > 1
    id select!, id select#, note select#, note where!
duckdb: select * from (values (1, 2)) as v(id, note) join raw.orders o on o.id = v.id
    * select *, id join!
duckdb: select o.id from raw.orders o natural join raw.orders__items
    id select
duckdb: select id from raw.orders o join raw.orders p using (id)
    id join!, id select
duckdb: select id from raw.orders o full join raw.orders p using (id)
    id join!, id select
duckdb: select sku, id from raw.orders join other.t using (id) join raw.orders__items i on i.order_id = id
    id join!, id select, orders__items.order_id join!, orders__items.sku select
duckdb: select status, x from raw.orders join other.t on t.z = amount
    amount join!, status select
duckdb: select (select max(qty) from raw.orders__items where order_id = id) from raw.orders
    id where!, orders__items.order_id where!, orders__items.qty select!
duckdb: select (select max(z) from other.t where t.w = amount) from raw.orders
    ? orders.amount: `amount` may be a column of another table
duckdb: select id from raw.orders where id in (select order_id from raw.orders__items where qty > amount)
    amount where!, id select, id where!, orders__items.order_id select, orders__items.order_id where!, orders__items.qty where!
duckdb: select id from raw.orders union select order_id from raw.orders__items
    id select!, id select#, orders__items.order_id select!, orders__items.order_id select#
duckdb: select id as x, note as y from raw.orders union all by name select order_id as x, qty as z from raw.orders__items
    id select, note select, orders__items.order_id select, orders__items.qty select
duckdb: select x from (select * from raw.orders union all select * from raw.orders) as u(x)
    * select *#, id select#
    ? orders.*: columns that are named by position
duckdb: with u as (select * from raw.orders union all select * from raw.orders) select id from u where note > 1
    * select *#, id select#, note where!
duckdb: select id from raw.orders except select order_id from raw.orders__items order by id
    id order by, id select!, id select#, orders__items.order_id order by, orders__items.order_id select!, orders__items.order_id select#
postgres: select distinct on (status) id from raw.orders order by status, amount
    amount order by, id select, status order by, status select
duckdb: select sum(amount) over w from raw.orders window w as (partition by status order by id)
    amount select!, id window, status window
duckdb: select first_value(note ignore nulls) over (partition by buyer order by id rows between 1 preceding and current row) from raw.orders
    buyer window, id window, note select!
postgres: select string_agg(note, ',' order by amount) within group (order by id) from raw.orders
    amount select!, id select!, note select!
postgres: select percentile_cont(0.5) within group (order by amount) from raw.orders
    amount select!
duckdb: insert into other.x select * from raw.orders
    * select *#
duckdb: insert into raw.orders (id, note) select a, b from other.t
    ? orders.id: `INSERT` writes it
    ? orders.note: `INSERT` writes it
duckdb: insert into raw.orders select * from other.t
    ? orders.*: `INSERT` writes it
postgres: insert into raw.orders (id, amount) values (1, 2) on conflict (id) do update set amount = orders.amount + excluded.amount returning note
    amount select!, id where, note select
    ? orders.amount: `INSERT` writes it
    ? orders.id: `INSERT` writes it
postgres: update raw.orders o set note = s.n, amount = o.amount + 1 from other.s where s.id = o.id and status = 'x' returning o.buyer
    amount select!, buyer select, id where!, status where!
    ? orders.amount: `UPDATE` writes it
    ? orders.note: `UPDATE` writes it
postgres: update other.x set a = o.note from raw.orders o where o.id = x.id
    id where!, note select#
postgres: delete from raw.orders using other.s where s.id = orders.id and note = 'x'
    id where!, note where!
snowflake: merge into raw.orders t using other.s on t.id=s.id when matched and t.status = 'x' then update set t.note = s.n when not matched then insert (id) values (s.id)
    id join!, status where!
    ? orders.id: `MERGE` writes it
    ? orders.note: `MERGE` writes it
snowflake: merge into other.x t using raw.orders s on t.id=s.id when matched then update set t.n = s.note when not matched then insert (id, n) values (s.id, s.amount + 1)
    amount select!, id join!, id select#, note select#
databricks: merge into other.x t using raw.orders s on t.id=s.id when matched then update set * when not matched then insert *
    * select *#, id join!
snowflake: merge into other.x t using (select id, note from raw.orders where status = 'x') s on t.id=s.id when matched then update set n = s.note
    id join!, id select, note select, note select#, status where!
duckdb: create table other.x as select id, note from raw.orders; select id, note + 1 from other.x
    id select, note select, note select!
duckdb: create temp table orders as select * from raw.orders; select note from orders
    * select *, note select
duckdb: create or replace view v (a, b) as select id, note from raw.orders
    id select#, note select#
duckdb: create view v (a, b) as select * from raw.orders
    * select *#
    ? orders.*: columns that are named by position
duckdb: create table raw.orders (id int, note text)
duckdb: create index i on raw.orders (id)
    ? orders.*: a statement `CREATE INDEX`
postgres: create function f() returns int as $$ select max(id) from raw.orders $$ language sql
    ? orders.*: a statement `CREATE FUNCTION`
duckdb: copy raw.orders to 'x.csv'
    * select *
duckdb: copy raw.orders (id, note) to 'x.csv'
    id select, note select
duckdb: copy (select id from raw.orders) to 'x.csv'
    id select
duckdb: copy raw.orders from 'x.csv'
    ? orders.*: `COPY` writes it
postgres: explain select id from raw.orders
    ? orders.*: a statement `EXPLAIN`
duckdb: describe raw.orders
    ? orders.*: a statement `DESCRIBE`
duckdb: truncate raw.orders
    ? orders.*: a statement `TRUNCATE`
duckdb: alter table raw.orders add column x int
    ? orders.*: a statement `ALTER`
duckdb: call f('raw.orders')
    ? orders.*: a statement `CALL`
postgres: table raw.orders
    * select *
postgres: select id from raw.orders; this is no sql from orders; select note from raw.orders
    id select, note select
    ? orders.*: SQL that does not parse
postgres: with orders as (select id from raw.orders) select id from orders
    id select
postgres: with orders as (select id, 1 as note from other.t) select note from orders
postgres: with o as (select * from raw.orders), p as (select o.*, 1 as z from o) select p.note from p where p.z = 1
    note select
postgres: with o as (select * from raw.orders) select o.* from o
    * select *
postgres: select o.* from (select * from raw.orders) o join other.t on t.id = o.id
    * select *, id join!
postgres: select t.x, o.id from other.t left join lateral (select id from raw.orders where note = t.x limit 1) o on true
    id select, note where!
snowflake: select "id", "ID", "note" from raw.orders
    id select, note select
snowflake: select ID from RAW.ORDERS
    id select
snowflake: select id from db.raw.orders
    id select
snowflake: select id from "raw"."orders"
    id select
mysql: select ID, `Note` from raw.orders
    id select, note select
bigquery: select Id from `proj.raw.orders`
    id select
bigquery: select id from `raw.ord*`
    ? orders.*: a table by pattern
    ? orders__items.*: a table by pattern
clickhouse: select id from raw.orders prewhere note = 1
    id select, note where!
clickhouse: select i from raw.orders array join buyer as i
    buyer join!
oracle: select level from raw.orders start with id = 1 connect by prior id = amount
    amount where!, id where!
snowflake: select * from raw.orders match_recognize (partition by id order by note measures a.amount as y pattern (a b*) define b as amount > 1)
    * select *, amount select!, id select!, note select!
    ? orders.*: MATCH_RECOGNIZE
duckdb: select id from (raw.orders o join other.x on o.id=x.id) join other.y using (id)
    id join!, id select
duckdb: select z.id from (raw.orders o join other.x on o.id=x.id) as z
    id join!, id select
duckdb: select a.id from ((select * from raw.orders) a join other.b on a.note = b.note)
    id select, note join!
duckdb: select x.a from raw.orders as x(a, b, c, d, e)
    id select
    ? orders.*: columns that are named by position
duckdb: select id from raw.orders where note = :note and status = $1 and amount > ?
    amount where!, id select, note where!, status where!
snowflake: select $1 from raw.orders
    ? orders.*: columns by pattern or position
duckdb: select #1 from raw.orders
    ? orders.*: columns by pattern or position
duckdb: select list_transform(buyer, x -> x + amount) from raw.orders
    amount select!, buyer select!
duckdb: select [x for x in buyer if x > 1] from raw.orders
    buyer select!
duckdb: select id from raw.orders semi join raw.orders__items i on i.order_id = orders.id
    id join!, id select, orders__items.order_id join!
duckdb: select * from raw.orders__items anti join raw.orders on id = order_id
    id join!, orders__items.order_id join!, orders__items.order_id select *, orders__items.qty select *, orders__items.sku select *
duckdb: select o.id from raw.orders o asof join raw.orders__items i on o.id = i.order_id and o.amount >= i.qty
    amount join!, id join!, id select, orders__items.order_id join!, orders__items.qty join!
postgres: select case when id > 1 then note else status end as x from raw.orders group by x
    id select!, note select!, status select!
postgres: select date_trunc('day', note) as note from raw.orders group by note order by note
    note group by, note select!
bigquery: select as struct * from raw.orders
    * select *
bigquery: select array(select as struct o.id, o.note) from raw.orders o
    id select, id select!, note select, note select!
duckdb: select {'a': id, 'b': note} from raw.orders
    id select!, note select!
duckdb: select * from query_table('raw.orders')
    ? orders.*: a table function
postgres: select id from raw.orders for update
    id select
duckdb: select id from raw.orders using sample 10%
    id select
duckdb: select id from raw.orders limit (select max(qty) from raw.orders__items)
    id select, orders__items.qty select!
hive: select id from raw.orders distribute by note sort by amount
    amount order by, id select, note order by
duckdb: select id from raw.orders group by grouping sets ((id, status), (note), rollup(amount))
    amount group by, id group by, id select, note group by, status group by
duckdb: select sum(amount) as s from raw.orders having s > 1
    amount select!
duckdb: select o1.id, o2.note from raw.orders o1, raw.orders o2 where o1.id = o2.amount
    amount where!, id select, id where!, note select
duckdb: with x as (update raw.orders set note = 1 where status = 'a' returning id) select id from x
    id select, status where!
    ? orders.note: `UPDATE` writes it
postgres: with d as (delete from raw.orders where status = 'a' returning *) insert into other.archive select * from d
    status where!
    ? orders.*: a whole row as a value
postgres: select id from only raw.orders
    id select
postgres: select * from raw.orders where (id, note) in (select order_id, sku from raw.orders__items)
    * select *, id where!, note where!, orders__items.order_id select, orders__items.order_id where!, orders__items.sku select, orders__items.sku where!
postgres: select array(select note from raw.orders)
    note select, note select!
duckdb: select o.status.x.y from raw.orders o
    status select
duckdb: select unnest(buyer) from raw.orders
    buyer select!
duckdb: select id from raw.orders qualify row_number() over (partition by status order by amount) = 1
    amount window, id select, status window
duckdb: select id, row_number() over (order by amount) as rn from raw.orders qualify rn = 1
    amount window, id select
postgres: select coalesce(o.note, 'x') from other.t t left join raw.orders o on t.id = o.id and o.status = 'x'
    id join!, note select!, status join!
snowflake: select * from raw.orders o, table(flatten(input => o.buyer, path => 'x')) f where f.value:a = 1
    * select *, buyer join!
snowflake: select o.$1, o.note from raw.orders o
    note select
    ? orders.*: columns by pattern or position
snowflake: select object_construct(*) from raw.orders
    ? orders.*: a whole row as a value
snowflake: select object_construct('a', id, 'b', note) from raw.orders
    id select!, note select!
snowflake: select note:"A b"[0].c::string as x from raw.orders where x > 1
    note select!
snowflake: select * from raw.orders at(offset => -60)
    * select *
snowflake: select id from raw.orders changes(information => default) at(offset => -60)
    id select
snowflake: select id from raw.orders sample (10)
    id select
snowflake: select id, listagg(note, ',') within group (order by amount) over (partition by status) from raw.orders
    amount select!, id select, note select!, status window
snowflake: select id from raw.orders where note ilike any ('a%', 'b%') and amount between 1 and status
    amount where!, id select, note where!, status where!
snowflake: create or replace dynamic table other.x target_lag = '1 minute' warehouse = w as select id from raw.orders
    id select
snowflake: create table other.x clone raw.orders
    ? orders.*: a statement `CREATE TABLE`
snowflake: create table other.x like raw.orders
    ? orders.*: a statement `CREATE TABLE`
snowflake: insert overwrite into other.x select id, note from raw.orders
    id select#, note select#
snowflake: insert into other.x (a, b) select id, note from raw.orders
    id select#, note select#
snowflake: select id from raw.orders minus select order_id from raw.orders__items
    id select!, id select#, orders__items.order_id select!, orders__items.order_id select#
snowflake: with x as (select id from raw.orders) select * from x union all select * from x
    id select#
snowflake: copy into @stage from (select id from raw.orders)
    id select
snowflake: copy into raw.orders from @stage
    ? orders.*: `COPY` writes it
snowflake: copy into @stage from raw.orders
    * select *
snowflake: select id from raw.orders qualify count(*) over (partition by note) > 1
    id select, note window
snowflake: select top 10 id from raw.orders
    id select
snowflake: select count_if(note = 'x'), max_by(note, amount) from raw.orders
    amount select!, note select!
snowflake: call proc('raw.orders')
    ? orders.*: a statement `CALL`
snowflake: grant select on raw.orders to role x
    ? orders.*: a statement `GRANT`
snowflake: show columns in table raw.orders
    ? orders.*: a statement `SHOW`
bigquery: select o.* except (note), struct(o.id, o.note) as s from raw.orders o
    amount select *, buyer select *, id select *, id select!, note select, note select!, status select *
bigquery: select * replace (lower(note) as note) from raw.orders
    amount select *, buyer select *, id select *, note select!, status select *
bigquery: select (select max(i.qty) from unnest(o.buyer) as i) from raw.orders o
    buyer from!
bigquery: select array_agg(struct(id, note) order by amount limit 1)[offset(0)].note from raw.orders
    amount select!, id select!, note select!
bigquery: select buyer.name.first, o.buyer[offset(0)].x from raw.orders o
    buyer select, buyer select!
bigquery: select id from `raw`.`orders` where _PARTITIONTIME > '2020-01-01'
    id select
bigquery: select o.id from `p-x.raw.orders` o for system_time as of current_timestamp()
    id select
bigquery: select any_value(o).note from raw.orders o
    ? orders.*: a whole row as a value
bigquery: select id from raw.orders, unnest([1,2]) as n where n = amount
    amount where!, id select
bigquery: select key, val from raw.orders unpivot(val for key in (amount, note))
    amount from!, note from!
bigquery: select * from (select status, amount from raw.orders) pivot(sum(amount) for status in ('a', 'b'))
    amount from!, amount group by, amount select, status from!, status group by, status select
bigquery: select id, note from raw.orders group by 1, 2 having count(*) > 1
    id group by, id select, note group by, note select
bigquery: with orders as (select * from raw.orders), o2 as (select * from orders) select o2.id from o2
    id select
bigquery: select if(exists(select 1 from raw.orders__items i where i.order_id = o.id), o.note, null) from raw.orders o
    id where!, note select!, orders__items.order_id where!
bigquery: declare x int64; set x = (select max(id) from raw.orders); select note from raw.orders where id = x
    id where!, note select
    ? orders.*: a statement `SET`
bigquery: create temp function f(x int64) as (x + 1); select f(amount) from raw.orders
    amount select!
bigquery: export data options(uri='x') as select id from raw.orders
    ? orders.*: a statement `EXPORT`
bigquery: select * from raw.orders as o left join o.buyer as b on b.x = o.id
    * select *, buyer join!, id join!
bigquery: from raw.orders |> where amount > 1 |> select id
    amount where!, id select
redshift: select distinct id, note from raw.orders order by amount
    amount order by, id select, id select!, note select, note select!
redshift: unload ('select id from raw.orders') to 's3://x'
    ? orders.*: a statement `UNLOAD`
redshift: select id from raw.orders where note similar to 'x'
    id select, note where!
databricks: select id, explode(buyer) as (a, b) from raw.orders
    buyer select!, id select
databricks: select * except (note) from raw.orders
    amount select *, buyer select *, id select *, note select, status select *
databricks: select transform(buyer, x -> x.qty + amount) from raw.orders
    amount select!, buyer select!
databricks: select id from raw.orders lateral view outer posexplode(buyer) t as pos, item where item.x = 1
    buyer from!, id select
databricks: select id, amount as a, a * 2 as b from raw.orders where status = 'x' cluster by note
    amount select, amount select!, id select, note order by, status where!
databricks: select * from raw.orders version as of 3
    * select *
databricks: insert into other.x by name select id, note from raw.orders
    id select, note select
databricks: select note:a.b from raw.orders
    note select!
spark: select /*+ broadcast(o) */ id from raw.orders o
    id select
spark: from raw.orders select id where note > 1
    id select, note where!
spark: cache table x as select id from raw.orders
    ? orders.*: a statement `CACHE`
spark: select stack(2, 'a', amount, 'b', note) as (k, v) from raw.orders
    amount select!, note select!
trino: select id from raw.orders cross join unnest(buyer) as t(a, b)
    buyer join!, id select
trino: select approx_percentile(amount, 0.5), max(note) filter (where status = 'x') from raw.orders
    amount select!, note select!, status select!
trino: select o.id, r.* from raw.orders o cross join lateral (select max(i.qty) as m from raw.orders__items i where i.order_id = o.id) r
    id select, id where!, orders__items.order_id where!, orders__items.qty select!
trino: with t(a, b) as (select id, note from raw.orders) select a from t where b = 'x'
    id select, note select, note where!
trino: select row(id, note).field0 from raw.orders
    id select!, note select!
postgres: select o.id from raw.orders o where (o.note, o.status) in (values ('a', 'b'))
    id select, note where!, status where!
postgres: select o.buyer ->> 'name', o.buyer @> '{}', (o.buyer -> 'a')::int from raw.orders o
    buyer select!
postgres: select (o.buyer).name, (o).note from raw.orders o
    buyer select
    ? orders.*: a whole row as a value
postgres: select o.*::text from raw.orders o
    ? orders.*: a whole row as a value
postgres: select o::text from raw.orders o
    ? orders.*: a whole row as a value
postgres: select jsonb_build_object('a', id), jsonb_agg(o) from raw.orders o
    id select!
    ? orders.*: a whole row as a value
postgres: select count(distinct o) from raw.orders o
    ? orders.*: a whole row as a value
postgres: select id from raw.orders window w as (order by note) order by rank() over w
    id select, note window
postgres: select sum(amount) over (w rows unbounded preceding) from raw.orders window w as (order by id)
    amount select!, id window
postgres: select lag(note, 1) over (order by id), status from raw.orders
    id window, note select!, status select
postgres: with a as materialized (select * from raw.orders), b as (select * from a where note = 'x') select b.* from b
    * select *, note where!
postgres: with recursive t(n) as (values (1) union all select n + 1 from t, raw.orders where n < amount) select n from t
    amount where!
postgres: select * from raw.orders o left join lateral jsonb_to_recordset(o.buyer) as x(a int, b text) on true
    * select *, buyer join!
postgres: select * from rows from (generate_series(1, 3), unnest(array[1])) as t(a, b), raw.orders
    * select *
postgres: select id from raw.orders tablesample system (1)
    id select
postgres: create materialized view v as select id from raw.orders with no data
    ? orders.*: a statement `CREATE`
postgres: create table other.x (like raw.orders)
    ? orders.*: a statement `CREATE TABLE`
postgres: create view v as select o.* from raw.orders o
    * select *
postgres: create rule r as on insert to raw.orders do nothing
    ? orders.*: a statement `CREATE`
postgres: create trigger t after insert on raw.orders execute function f()
    ? orders.*: a statement `CREATE TRIGGER`
postgres: do $$ begin update raw.orders set note = 1; end $$
    ? orders.*: a statement `DO`
postgres: prepare q as select id from raw.orders
    ? orders.*: a statement `PREPARE`
postgres: declare c cursor for select id from raw.orders
    ? orders.*: a statement `DECLARE`
postgres: copy (select id from raw.orders) to stdout
    id select
postgres: lock table raw.orders
    ? orders.*: a statement `LOCK`
postgres: select 'a' || note collate "C" from raw.orders order by status collate "C"
    note select!, status order by!
postgres: select extract(year from note), note::date at time zone 'utc', interval '1 day' + note from raw.orders
    note select!
postgres: select * from raw.orders natural left join raw.orders__items
    * select *, orders__items.order_id select *, orders__items.qty select *, orders__items.sku select *
postgres: select a.id from raw.orders a join raw.orders b using (id) where b.note = 'x'
    id join!, id select, note where!
postgres: select coalesce(a.id, b.order_id) from raw.orders a full join raw.orders__items b on a.id = b.order_id
    id join!, id select!, orders__items.order_id join!, orders__items.order_id select!
postgres: select o.id from raw.orders o, raw.orders__items i where i.order_id = o.id and i.qty > all (select amount from raw.orders)
    amount select, amount where!, id select, id where!, orders__items.order_id where!, orders__items.qty where!
postgres: select exists (select from raw.orders where note = 'x')
    note where!
postgres: select not exists (select note from raw.orders)
    note select
postgres: select grouping(status), count(*) from raw.orders group by cube (status, note)
    note group by, status group by, status select!
postgres: select id as "Id" from raw.orders order by "Id"
    id order by, id select
postgres: select "orders"."id" from "raw"."orders"
    id select
postgres: select o.xmin, ctid, tableoid from raw.orders o
postgres: select status as s, count(*) from raw.orders group by s having count(*) > 1 order by count(*), s desc nulls last
    status group by, status order by, status select
postgres: select id from raw.orders union (select order_id from raw.orders__items order by qty limit 1) order by 1
    id select!, id select#, orders__items.order_id select!, orders__items.order_id select#, orders__items.qty order by
postgres: values ((select max(id) from raw.orders))
    id select!
postgres: select current_date, note from raw.orders limit (select count(*) from raw.orders__items)
    note select
postgres: merge into raw.orders o using (select id from other.s) s on o.id = s.id when matched then delete
    id join!
postgres: insert into other.x values ((select max(note) from raw.orders), 1)
    note select!
postgres: insert into other.x default values returning (select max(id) from raw.orders)
    id select!
postgres: update raw.orders set (note, amount) = (select a, b from other.s where s.id = orders.id)
    id where!
    ? orders.amount: `UPDATE` writes it
    ? orders.note: `UPDATE` writes it
postgres: update only raw.orders set note = default where id = 1
    id where!
    ? orders.note: `UPDATE` writes it
mysql: select `id`, @x := amount from `raw`.`orders` force index (i) where note regexp 'a' order by null
    amount select!, id select, note where!
mysql: update raw.orders o join other.t on t.id = o.id set o.note = t.n where o.status = 1
    id join!, status where!
    ? orders.note: `UPDATE` writes it
mysql: delete o from raw.orders o join other.t on t.id = o.id
    id join!
mysql: insert into raw.orders (id) values (1) on duplicate key update amount = amount + values(amount)
    amount select!
    ? orders.amount: `INSERT` writes it
    ? orders.id: `INSERT` writes it
mysql: replace into raw.orders (id) select 1
    ? orders.*: a statement `REPLACE`
mysql: select group_concat(distinct note order by amount separator ',') from raw.orders
    amount select!, note select!
mysql: select json_extract(note, '$.a'), note->'$.b' from raw.orders
    note select!
mysql: select * from json_table((select buyer from raw.orders), '$[*]' columns (a int path '$.a')) t
    buyer from!, buyer select
sqlite: select rowid, id from raw.orders where note glob 'x'
    id select, note where!
sqlite: select e.value from raw.orders, json_each(orders.buyer) e
    buyer join!
tsql: select [o].[id], o.note as 'x' from [raw].[orders] as o with (nolock) outer apply (select top 1 i.qty from raw.orders__items i where i.order_id = o.id) a
    id select, id where!, note select, orders__items.order_id where!, orders__items.qty select
tsql: select id into #tmp from raw.orders; select id from #tmp
    id select
tsql: select id from raw..orders
    id select
tsql: select id from db.raw.orders for json path
    id select
tsql: declare @x int = (select max(id) from raw.orders); select @x
    ? orders.*: a statement `DECLARE`
tsql: merge raw.orders as t using other.s as s on t.id = s.id when not matched by target then insert (id) values (s.id);
    id join!
    ? orders.id: `MERGE` writes it
tsql: with x as (select id, rn = row_number() over (order by note) from raw.orders) delete from x where rn > 1
    id select, note window
oracle: select o.id, (select max(qty) from raw.orders__items where order_id = o.id) q from raw.orders o, raw.orders__items i where o.id = i.order_id(+)
    id select, id where!, orders__items.order_id where!, orders__items.qty select!
oracle: select id from raw.orders where rownum < 3
    id select
clickhouse: select id, arrayJoin(buyer) as x from raw.orders final where note = 1 settings max_threads = 1
    buyer select!, id select, note where!
clickhouse: select id from raw.orders any left join raw.orders__items on order_id = id
    id join!, id select, orders__items.order_id join!
clickhouse: select count(), uniqExact(note) from raw.orders limit 1 by status
    note select!, status select!
clickhouse: with (select max(id) from raw.orders) as m select m
    id select!
clickhouse: with id + 1 as y select y from raw.orders
    id select!
duckdb: select * from raw.orders where columns('a.*') > 1
    * select *
    ? orders.*: columns by pattern or position
duckdb: select struct_pack(a := id, b := note), row(id, amount) from raw.orders
    amount select!, id select!, note select!
duckdb: select o from raw.orders as o
    ? orders.*: a whole row as a value
duckdb: select o.buyer['name'], buyer[1].x from raw.orders o
    buyer select!
duckdb: select unnest(buyer, recursive := true) from raw.orders
    buyer select!
duckdb: select arg_max(note, amount), list(id order by note) from raw.orders
    amount select!, id select!, note select!
duckdb: summarize select id from raw.orders
    ? orders.*: a statement `SUMMARIZE`
duckdb: describe select id from raw.orders
    ? orders.*: a statement `DESCRIBE`
duckdb: create macro m(a) as (select max(note) from raw.orders where id = a)
    id where!, note select!
duckdb: create or replace table other.x as from raw.orders select id
    id select
duckdb: select id from (from raw.orders)
    id select
duckdb: select id from raw.orders positional join raw.orders__items
    id select
duckdb: select t.* from (select * from raw.orders) t(a, b)
    * select *
    ? orders.*: columns that are named by position
duckdb: select id, id + 1 as id from raw.orders
    id select, id select!
duckdb: select max(amount) as amount from raw.orders having amount > 1
    amount having!, amount select!
duckdb: select x.id from raw.orders x, lateral (select x.note) y
    id select, note select
duckdb: pivot (select status, amount from raw.orders) on status using sum(amount)
    amount from!, amount group by, amount select, status from!, status group by, status select
duckdb: with o as (select * from raw.orders) from o select note where id > 1
    id where!, note select
duckdb: select id as i, (select max(qty) from raw.orders__items where order_id = i) from raw.orders
    id select, id where!, orders__items.order_id where!, orders__items.qty select!
duckdb: select date_diff('day', note, status), note in (1, amount), note is null from raw.orders
    amount select!, note select!, status select!
duckdb: explain analyze select id from raw.orders
    ? orders.*: a statement `EXPLAIN`
duckdb: attach 'x.db' as raw; select id from raw.orders
    id select
duckdb: use other; select id from orders
    id select
duckdb: select * from (values (1)) t(id) join raw.orders using (id)
    * select *, id join!
duckdb: select id from raw.orders union by name select * from raw.orders__items
    id select, id select!, orders__items.order_id select *, orders__items.order_id select *!, orders__items.qty select *, orders__items.qty select *!, orders__items.sku select *, orders__items.sku select *!
duckdb: select a.* exclude (id) from raw.orders a join raw.orders__items b on a.id = b.order_id
    amount select *, buyer select *, id join!, id select, note select *, orders__items.order_id join!, status select *
duckdb: select * exclude (a.id) from raw.orders a join raw.orders__items b on a.id = b.order_id
    amount select *, buyer select *, id join!, id select, note select *, orders__items.order_id join!, orders__items.order_id select *, orders__items.qty select *, orders__items.sku select *, status select *
duckdb: select * from raw.orders order by 1, note
    * select *, note order by
    ? orders.*: `order by 1` after `select *`
duckdb: select id from raw.orders where status = any(select sku from raw.orders__items)
    id select, orders__items.sku select, orders__items.sku where!, status where!
duckdb: select CASE status WHEN 'x' THEN note END, try_cast(amount as int) from raw.orders
    amount select!, note select!, status select!
snowflake: with parts as (select * from other.parts union all select * from raw.orders__items) select max(qty) from parts where parts.sku is null
    orders__items.order_id select *#, orders__items.qty select *#, orders__items.qty select!, orders__items.sku select *#, orders__items.sku where!
duckdb: with parts as (select key, size, price from other.parts union all select * from raw.orders__items) select max(price) from parts
    orders__items.order_id select *#, orders__items.qty select *#, orders__items.sku select *#
    ? orders__items.order_id: a union with columns by position
    ? orders__items.qty: a union with columns by position
    ? orders__items.sku: a union with columns by position
duckdb: select id, amount from raw.orders
    amount select, id select
duckdb: select id from orders
    id select
duckdb: select o.id from raw.orders as o
    id select
duckdb: select amount as a from raw.orders
    amount select
duckdb: select amount * 2, lower(note) from raw.orders
    amount select!, note select!
duckdb: select amount::text from raw.orders
    amount select!
duckdb: select case when status = 'x' then id end from raw.orders
    id select!, status select!
duckdb: select 1 from raw.orders where amount > 1
    amount where!
duckdb: select amount as a from raw.orders order by a
    amount order by, amount select
duckdb: select count(*) from raw.orders group by status
    status group by
duckdb: select 1 from raw.orders group by all having max(amount) > 1
    amount having!
duckdb: select sum(amount) over (partition by buyer order by id) from raw.orders
    amount select!, buyer window, id window
duckdb: select id from raw.orders qualify row_number() over (order by note) = 1
    id select, note window
duckdb: select o.id from raw.orders o join raw.orders__items i on i.order_id = o.id
    id join!, id select, orders__items.order_id join!
duckdb: select sku from raw.orders__items join other.t using (order_id)
    orders__items.order_id join!, orders__items.sku select
duckdb: select * from raw.orders__items
    orders__items.order_id select *, orders__items.qty select *, orders__items.sku select *
duckdb: select i.*, o.z from raw.orders__items i, other.o
    orders__items.order_id select *, orders__items.qty select *, orders__items.sku select *
duckdb: select * from raw.orders__items join other.t on true
    orders__items.order_id select *, orders__items.qty select *, orders__items.sku select *
duckdb: with o as (select * from raw.orders) select id from o
    id select
duckdb: with a as (select * from raw.orders), b as (select amount as m from a where status = 'x') select m + 1 from b
    amount select, amount select!, status where!
duckdb: with o as (select id from raw.orders) select 1
    id select
duckdb: with o as (select * from raw.orders) select 1
duckdb: select x.id from (select id, amount from raw.orders) x
    amount select, id select
duckdb: with orders as (select id from raw.orders) select id from orders
    id select
duckdb: select 1 from other.t where t.id in (select order_id from raw.orders__items)
    orders__items.order_id select, orders__items.order_id where!
duckdb: select 1 from raw.orders o where exists (select qty from raw.orders__items i where i.order_id = o.id)
    id where!, orders__items.order_id where!, orders__items.qty select
duckdb: select distinct status from raw.orders
    status select, status select!
duckdb: select id from raw.orders union all select order_id from raw.orders__items
    id select#, orders__items.order_id select#
duckdb: select * from raw.orders__items union all select 1, 2, 3
    orders__items.order_id select *#, orders__items.qty select *#, orders__items.sku select *#
duckdb: select buyer.name from raw.orders
    buyer select
duckdb: select u.x from raw.orders, unnest(orders.buyer) as u(x)
    buyer join!
duckdb: select count(*) filter (where status = 'x') from raw.orders
    status select!
duckdb: select count(*) from raw.orders
duckdb: create view v as select id from raw.orders
    id select
duckdb: insert into x select id from raw.orders
    id select#
duckdb: select id from raw.orders; select note from raw.orders
    id select, note select
duckdb: select id from other.orders
duckdb: select id from raw.customers where 'orders' = 'x'
duckdb: SELECT ID FROM RAW.ORDERS
    id select
postgres: select "ID" from raw.orders
duckdb: select "ID" from raw.orders
    id select
duckdb: update raw.orders set note = 1
    ? orders.note: `UPDATE` writes it
duckdb: select from where orders
    ? orders.*: SQL that does not parse
duckdb: select o from raw.orders o
    ? orders.*: a whole row as a value
duckdb: select t.z from raw.orders natural join other.t
    ? orders.*: a natural join with a table whose columns are not known
snowflake: select * from raw.orders pivot (sum(amount) for status in ('a'))
    * select *, amount from!, status from!
    ? orders.*: a pivot
"""


def cases(text: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yield the dialect, the query, its uses and the reasons of what is not read in it."""
    for case in re.split(r"\n(?! )", text.strip()):
        query, *outcomes = case.split("\n    ")
        dialect, sql = query.split(": ", 1)
        uses = [use for outcome in outcomes if not outcome.startswith("? ") for use in outcome.split(", ")]
        blind = [outcome.removeprefix("? ") for outcome in outcomes if outcome.startswith("? ")]
        yield dialect, sql, uses, blind


@pytest.mark.parametrize(
    ("dialect", "sql", "uses", "blind"), [pytest.param(*case, id=f"{case[0]}: {case[1]}") for case in cases(KINDS)]
)
def test_a_query_uses_columns(dialect: str, sql: str, uses: list[str], blind: list[str]) -> None:
    readership = read_sql(sql, READER, TABLES, dialect)
    expected = {f"{column}{use[1:]}" for use in uses if use.startswith("*") for column in ORDERS}
    expected |= {use for use in uses if not use.startswith("*")}
    assert {
        f"{use.table}.{use.column} {use.clause.value}{'!' * use.is_computed}{'#' * use.is_positional}".removeprefix(
            "orders."
        )
        for use in readership.uses
        if use.column is not None
    } == expected
    assert {f"{item.table}.{item.column or '*'}: {item.reason}" for item in readership.blind} == set(blind)


WITH_BUYERS = "with buyers as (\nselect id, buyer from raw.orders\n)\n"
"""Names its columns in line 2."""

UNNAMED = {
    "group by position": (f"{WITH_BUYERS}select\nbuyer,\ncount(*)\nfrom buyers\ngroup by 1", "buyer group by 5"),
    "group by all": (f"{WITH_BUYERS}select\nbuyer,\ncount(*)\nfrom buyers\ngroup by all", "buyer group by 5"),
    "distinct": (f"{WITH_BUYERS}select distinct\nbuyer\nfrom buyers", "buyer select! 5"),
    "distinct star": (f"{WITH_BUYERS}select distinct\n*\nfrom buyers", "buyer select! 5"),
    "union": (f"{WITH_BUYERS}select 1\nunion\nselect\nbuyer\nfrom buyers", "buyer select! 7"),
    "in": (f"{WITH_BUYERS}select 1 where 'x' in (\nselect buyer\nfrom buyers)", "buyer where! 5"),
}


@pytest.mark.parametrize(("sql", "use"), UNNAMED.values(), ids=UNNAMED)
def test_a_use_without_a_name_has_the_line_of_its_item(sql: str, use: str) -> None:
    uses = [
        f"{use.column} {use.clause.value}{'!' * use.is_computed} {use.location.line}"
        for use in read_sql(sql, READER, TABLES, "duckdb").uses
        if use.location and (use.is_computed or use.clause.value == "group by")
    ]
    assert use in uses
    assert not any(other.endswith(" 2") for other in uses)

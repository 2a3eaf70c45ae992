-- The months that have a partition.
SELECT 12 * split_part(c.relname, '_', 2)::int + split_part(c.relname, '_', 3)::int - 1
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'run'::regclass AND c.relname ~ '^run_[0-9]+_[0-9][0-9]$'

INSERT INTO partition_state (name, rec)
SELECT * FROM unnest($1::bytea[], $2::bytea[])
ON CONFLICT (name) DO UPDATE SET rec = excluded.rec

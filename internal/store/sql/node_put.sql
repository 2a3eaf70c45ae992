INSERT INTO node_state (name, base, flags, rec)
SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bigint[], $4::bytea[])
ON CONFLICT (name) DO UPDATE SET base = excluded.base, flags = excluded.flags, rec = excluded.rec

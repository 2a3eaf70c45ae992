INSERT INTO job_request (key, uid, script, environment, spec)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])
ON CONFLICT (key) DO UPDATE
SET uid = excluded.uid, script = excluded.script, environment = excluded.environment, spec = excluded.spec

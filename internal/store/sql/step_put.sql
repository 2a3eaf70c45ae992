INSERT INTO step (job_key, attempt, step, state, rec)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::smallint[], $5::bytea[])
ON CONFLICT (job_key, attempt, step) DO UPDATE SET state = excluded.state, rec = excluded.rec

-- Jobs whose request is written with them.
WITH put AS (
    INSERT INTO job AS j (key, job_id, state, flags, attempt, start, ended, rec)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[],
                         $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[])
    ON CONFLICT (key) DO UPDATE
    SET job_id = excluded.job_id, state = excluded.state, flags = excluded.flags,
        attempt = excluded.attempt, start = excluded.start, ended = excluded.ended, rec = excluded.rec
    WHERE j.attempt <= excluded.attempt
    RETURNING 1)
SELECT expect_rows((SELECT count(*) FROM put), cardinality($1::bigint[]), 'jobs')

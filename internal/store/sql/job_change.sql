-- Jobs that are known, request and all.
WITH put AS (
    UPDATE job j
    SET job_id = u.job_id, state = u.state, flags = u.flags,
        attempt = u.attempt, start = u.start, ended = u.ended, rec = u.rec
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[],
                $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[])
         AS u (key, job_id, state, flags, attempt, start, ended, rec)
    WHERE j.key = u.key AND j.attempt <= u.attempt
    RETURNING 1)
SELECT expect_rows((SELECT count(*) FROM put), cardinality($1::bigint[]), 'jobs')

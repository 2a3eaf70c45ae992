-- A page of runs with keys up to $5, from after ($3, $4) on.
SELECT key, attempt, rec FROM run
WHERE month >= $1 AND month <= $2 AND (key, attempt) > ($3::bigint, $4::bigint) AND key <= $5
  AND ($6::bigint[] IS NULL OR job_id = ANY ($6) OR array_job_id = ANY ($6)
       OR (array_job_id > 0 AND array_job_id = ANY ($7::bigint[]) AND array_task_id = ANY ($8::bigint[])))
  AND ($9::bigint[] IS NULL OR uid = ANY ($9))
  AND ($10::bigint[] IS NULL OR gid = ANY ($10))
  AND ($11::smallint[] IS NULL OR state = ANY ($11) OR flags & $12 <> 0)
  AND ($13::bytea[] IS NULL OR name = ANY ($13))
  AND ($14::bytea[] IS NULL OR account = ANY ($14))
  AND ($15::bytea[] IS NULL OR partition = ANY ($15))
  AND ($16::bytea[] IS NULL OR qos = ANY ($16))
  AND ($17::bytea[] IS NULL OR wckey = ANY ($17))
  AND ($18::bytea[] IS NULL OR reason = ANY ($18))
  AND ($19::bytea[] IS NULL OR EXISTS (SELECT FROM unnest($19::bytea[]) n WHERE position(n IN nodes) > 0))
  AND ($20::bigint = 0 OR since <= $20) AND ($21::bigint = 0 OR ended >= $21) AND ($22::bigint = 0 OR ended <= $22)
  AND num_cpus BETWEEN $23 AND $24 AND num_nodes BETWEEN $25 AND $26 AND time_limit BETWEEN $27 AND $28
ORDER BY key, attempt
LIMIT $29

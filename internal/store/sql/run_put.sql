INSERT INTO run (month, key, attempt, job_id, array_job_id, array_task_id, uid, gid, state, flags, since, ended,
                 num_cpus, num_nodes, time_limit, name, account, partition, qos, wckey, reason, nodes, rec)
SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                     $8::bigint[], $9::smallint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
                     $14::bigint[], $15::bigint[], $16::bytea[], $17::bytea[], $18::bytea[], $19::bytea[],
                     $20::bytea[], $21::bytea[], $22::bytea[], $23::bytea[])
ON CONFLICT (key, attempt, month) DO UPDATE
SET job_id = excluded.job_id, array_job_id = excluded.array_job_id, array_task_id = excluded.array_task_id,
    uid = excluded.uid, gid = excluded.gid, state = excluded.state, flags = excluded.flags,
    since = excluded.since, ended = excluded.ended, num_cpus = excluded.num_cpus,
    num_nodes = excluded.num_nodes, time_limit = excluded.time_limit, name = excluded.name,
    account = excluded.account, partition = excluded.partition, qos = excluded.qos,
    wckey = excluded.wckey, reason = excluded.reason, nodes = excluded.nodes, rec = excluded.rec

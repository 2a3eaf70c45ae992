-- Text that users write is bytea throughout: it may be in any encoding. The
-- columns beside `rec` (a marshalled protobuf message) are those that
-- constraints and reports need. Unsigned 32-bit numbers are bigint.

CREATE TABLE counter (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    next_key    bigint NOT NULL CHECK (next_key >= 0),
    next_job_id bigint NOT NULL CHECK (next_job_id >= 0)
) WITH (fillfactor = 10);
INSERT INTO counter (next_key, next_job_id) VALUES (0, 0);

-- Live jobs. No index on a column that changes, and room in each page: updates
-- stay heap-only. States are wire.BaseState, flags wire.StateFlag.
CREATE TABLE job (
    key     bigint   PRIMARY KEY,
    job_id  bigint   NOT NULL,
    state   smallint NOT NULL,
    flags   bigint   NOT NULL,
    attempt bigint   NOT NULL,
    start   bigint   NOT NULL,
    ended   bigint   NOT NULL,
    rec     bytea    NOT NULL,
    CONSTRAINT job_id_once              UNIQUE (job_id),
    CONSTRAINT job_key_is_positive      CHECK (key > 0),
    CONSTRAINT job_id_is_positive       CHECK (job_id > 0),
    CONSTRAINT job_state_is_known       CHECK (state BETWEEN 0 AND 11),
    CONSTRAINT job_attempt_is_a_count   CHECK (attempt >= 0),
    CONSTRAINT job_running_has_started  CHECK (state NOT IN (1, 2) OR (attempt > 0 AND start > 0)),
    CONSTRAINT job_completing_has_run   CHECK (flags & 1 = 0 OR attempt > 0),
    CONSTRAINT job_configuring_has_run  CHECK (flags & 2 = 0 OR attempt > 0),
    CONSTRAINT job_ended_has_end        CHECK (state < 3 OR ended > 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
ALTER TABLE job ALTER COLUMN rec SET STORAGE EXTERNAL;

-- What was asked for; the hashes name rows of content.
CREATE TABLE job_request (
    key         bigint PRIMARY KEY,
    uid         bigint NOT NULL,
    script      bytea,
    environment bytea,
    spec        bytea  NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE TABLE step (
    job_key bigint   NOT NULL CHECK (job_key > 0),
    attempt bigint   NOT NULL CHECK (attempt > 0),
    step    int      NOT NULL,
    state   smallint NOT NULL CHECK (state BETWEEN 0 AND 11),
    rec     bytea    NOT NULL,
    PRIMARY KEY (job_key, attempt, step)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
ALTER TABLE step ALTER COLUMN rec SET STORAGE EXTERNAL;

CREATE TABLE node_state (
    name  bytea    PRIMARY KEY CHECK (length(name) > 0),
    base  smallint NOT NULL CHECK (base BETWEEN 0 AND 4),
    flags bigint   NOT NULL,
    rec   bytea    NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE partition_state (
    name bytea PRIMARY KEY CHECK (length(name) > 0),
    rec  bytea NOT NULL
);

-- Scripts and environments, once for an owner and hash.
CREATE TABLE content (
    uid       bigint NOT NULL,
    hash      bytea  NOT NULL CHECK (length(hash) = 32),
    last_used bigint NOT NULL,
    data      bytea  NOT NULL,
    PRIMARY KEY (uid, hash)
);

-- Answers to recent requests. A second answer to one id is refused: it means
-- that a repeat was taken for a new request.
CREATE TABLE request (
    id    bytea  NOT NULL,
    uid   bigint NOT NULL,
    at    bigint NOT NULL,
    reply bytea  NOT NULL,
    CONSTRAINT request_answered_once PRIMARY KEY (id, uid)
);
CREATE INDEX request_at ON request USING brin (at) WITH (autosummarize = on);

-- The history: a row for each attempt. `month` counts months (12 * year + month
-- - 1, UTC) of the end; `nodes` is "\0n1\0n2\0"; array_task_id is -1 outside
-- arrays; since is when the job could first have started.
CREATE TABLE run (
    month         int      NOT NULL,
    key           bigint   NOT NULL CHECK (key > 0),
    attempt       bigint   NOT NULL CHECK (attempt >= 0),
    job_id        bigint   NOT NULL CHECK (job_id > 0),
    array_job_id  bigint   NOT NULL,
    array_task_id bigint   NOT NULL,
    uid           bigint   NOT NULL,
    gid           bigint   NOT NULL,
    state         smallint NOT NULL CHECK (state BETWEEN 0 AND 11),
    flags         bigint   NOT NULL,
    since         bigint   NOT NULL,
    ended         bigint   NOT NULL,
    num_cpus      bigint   NOT NULL,
    num_nodes     bigint   NOT NULL,
    time_limit    bigint   NOT NULL,
    name          bytea    NOT NULL,
    account       bytea    NOT NULL,
    partition     bytea    NOT NULL,
    qos           bytea    NOT NULL,
    wckey         bytea    NOT NULL,
    reason        bytea    NOT NULL,
    nodes         bytea    NOT NULL,
    rec           bytea    NOT NULL,
    CONSTRAINT run_has_ended CHECK (ended > 0),
    PRIMARY KEY (key, attempt, month)
) PARTITION BY RANGE (month);
CREATE INDEX run_job_id ON run (job_id);
CREATE INDEX run_array ON run (array_job_id, array_task_id) WHERE array_job_id > 0;
CREATE INDEX run_ended ON run USING brin (ended);
-- Only a safety net: months get partitions ahead of time.
CREATE TABLE run_default PARTITION OF run DEFAULT;

-- fence is called first in every transaction that writes. It locks the lease
-- row, so that a takeover waits for us, and raises unless we are the leader and
-- this is the next batch:
--   MU001  another term, or a newer connection of ours
--   MU002  this batch is committed already: a repeat after a lost answer
--   MU003  batches are missing: the database lost acknowledged work
--   MU004  a later batch is committed
CREATE FUNCTION fence(p_term bigint, p_writer bigint, p_batch bigint, p_ttl double precision,
                      p_newest bigint, p_next_key bigint, p_next_job_id bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    l lease%ROWTYPE;
BEGIN
    UPDATE lease
    SET batch = p_batch, newest = greatest(newest, p_newest),
        expires = clock_timestamp() + make_interval(secs => p_ttl)
    WHERE term = p_term AND writer = p_writer AND batch = p_batch - 1;
    IF NOT FOUND THEN
        SELECT * INTO l FROM lease;
        IF l.term <> p_term OR l.writer <> p_writer THEN
            RAISE EXCEPTION 'the lease has term % now, not %', l.term, p_term USING ERRCODE = 'MU001';
        ELSIF l.batch = p_batch THEN
            RAISE EXCEPTION 'batch % is committed already', p_batch USING ERRCODE = 'MU002';
        ELSIF l.batch > p_batch THEN
            RAISE EXCEPTION 'batch % is not the next one, batch % is committed', p_batch, l.batch USING ERRCODE = 'MU004';
        END IF;
        RAISE EXCEPTION 'batch % follows batch % in the database', p_batch, l.batch USING ERRCODE = 'MU003';
    END IF;
    IF p_next_key <> 0 OR p_next_job_id <> 0 THEN
        UPDATE counter
        SET next_key = CASE WHEN p_next_key <> 0 THEN p_next_key ELSE next_key END,
            next_job_id = CASE WHEN p_next_job_id <> 0 THEN p_next_job_id ELSE next_job_id END
        WHERE next_key <= p_next_key OR p_next_key = 0;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the next job key would go back to %', p_next_key USING ERRCODE = '23514';
        END IF;
    END IF;
END $$;

-- expect_rows refuses a statement that touched fewer rows than it was given.
CREATE FUNCTION expect_rows(p_got bigint, p_want bigint, p_what text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_got <> p_want THEN
        RAISE EXCEPTION '% of % % are unknown, or known with a later attempt', p_want - p_got, p_want, p_what
            USING ERRCODE = '23503';
    END IF;
END $$;

-- add_run_month makes the partition of a month, and moves there what the
-- default partition caught.
CREATE FUNCTION add_run_month(p_month int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    part text := format('run_%s_%s', p_month / 12, lpad((p_month % 12 + 1)::text, 2, '0'));
BEGIN
    PERFORM pg_advisory_xact_lock(8317412563);
    IF to_regclass(part) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE run INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', part);
    EXECUTE format('WITH moved AS (DELETE FROM run_default WHERE month = %s RETURNING *) INSERT INTO %I SELECT * FROM moved', p_month, part);
    EXECUTE format('ALTER TABLE run ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', part, p_month, p_month + 1);
END $$;

---- create above / drop below ----

DROP FUNCTION add_run_month(int);
DROP FUNCTION expect_rows(bigint, bigint, text);
DROP FUNCTION fence(bigint, bigint, bigint, double precision, bigint, bigint, bigint);
DROP TABLE run, request, content, partition_state, node_state, step, job_request, job, counter;

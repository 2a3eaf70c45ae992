-- The lease row, which decides who leads, and so who may migrate: it is the one
-- table that exists before any migration and never changes its shape. `batch`
-- counts the cluster's commits and takeovers; `writer` tells connections of one
-- leader apart; `newest` is the latest point in time that any row knows of.
CREATE SCHEMA IF NOT EXISTS muster;
CREATE TABLE IF NOT EXISTS muster.lease (
    one        boolean     PRIMARY KEY DEFAULT true CHECK (one),
    cluster_id text        NOT NULL,
    term       bigint      NOT NULL,
    holder     bytea       NOT NULL,
    expires    timestamptz NOT NULL,
    writer     bigint      NOT NULL,
    batch      bigint      NOT NULL,
    newest     bigint      NOT NULL
) WITH (fillfactor = 10);
INSERT INTO muster.lease (cluster_id, term, holder, expires, writer, batch, newest)
VALUES (gen_random_uuid()::text, 0, '', '-infinity', 0, 0, 0)
ON CONFLICT DO NOTHING;

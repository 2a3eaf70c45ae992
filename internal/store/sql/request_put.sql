INSERT INTO request (id, uid, at, reply)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[])

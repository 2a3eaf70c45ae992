DELETE FROM partition_state WHERE name = ANY ($1::bytea[])

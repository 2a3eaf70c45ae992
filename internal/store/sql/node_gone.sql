DELETE FROM node_state WHERE name = ANY ($1::bytea[])

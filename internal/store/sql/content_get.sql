SELECT data FROM content WHERE uid = $1 AND hash = $2

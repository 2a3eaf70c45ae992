DELETE FROM run_default WHERE month < $1

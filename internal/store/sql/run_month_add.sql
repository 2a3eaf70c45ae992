SELECT add_run_month($1)

SELECT DISTINCT month FROM run_default

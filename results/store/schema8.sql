-- Version 8: the clock at which a block was timed, of the core on a CPU, of the multiprocessors on a GPU.
ALTER TABLE timing_block ADD COLUMN clock_mhz REAL;  -- NULL where it was not read

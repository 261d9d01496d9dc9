-- Version 8: a cell says at which accuracy its training ends early (RunConfig::stop_at), and a block
-- at what clock it was timed, of the core on a CPU, of the multiprocessors on a GPU. Trainings of
-- earlier versions go to their end, and nobody read their clocks.
ALTER TABLE cell ADD COLUMN stop_at REAL NOT NULL DEFAULT 0;
ALTER TABLE timing_block ADD COLUMN clock_mhz REAL;  -- NULL where it was not read

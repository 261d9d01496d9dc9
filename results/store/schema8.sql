-- Version 8: a cell says at which accuracy its training ends early (RunConfig::stop_at), a block at
-- what clock it was timed, of the core on a CPU, of the multiprocessors on a GPU, and a kernel result
-- how many bytes its plan has to move at least and what the memory does at most. Trainings of earlier
-- versions go to their end; of them and of earlier results the rest is not known.
ALTER TABLE cell ADD COLUMN stop_at REAL NOT NULL DEFAULT 0;
ALTER TABLE timing_block ADD COLUMN clock_mhz REAL;
ALTER TABLE kernel_result ADD COLUMN bytes REAL;
ALTER TABLE kernel_result ADD COLUMN memory_gbs REAL;  -- of a copy, measured: read and written

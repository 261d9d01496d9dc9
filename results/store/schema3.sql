-- Version 3: a block of a timing run knows whether its threads had a physical core each, and how
-- often it was done again because they had not.
ALTER TABLE timing_block ADD COLUMN core_share REAL;  -- of a core, each; NULL where not probed
ALTER TABLE timing_block ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;

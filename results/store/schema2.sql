-- Version 2: what `approxtrain study` computes is kept as well, and a study or a kernel benchmark
-- knows the experiment that asked for it ('' where it was run by itself).
CREATE TABLE study_run(
  study_run_id INTEGER PRIMARY KEY,
  experiment TEXT NOT NULL,
  name TEXT NOT NULL,
  params TEXT NOT NULL,   -- JSON object
  methods TEXT NOT NULL,  -- JSON list
  host_id INTEGER NOT NULL REFERENCES host,
  build_id INTEGER NOT NULL REFERENCES build,
  started_utc TEXT NOT NULL,
  environment TEXT NOT NULL,  -- JSON
  content TEXT NOT NULL       -- JSON: {"columns": [...], "rows": [[...]]}
) STRICT;

ALTER TABLE kernel_run ADD COLUMN experiment TEXT NOT NULL DEFAULT '';

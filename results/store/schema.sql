-- The first version of the store. Never edited once released: a change is a migration
-- (results/store/database.cpp), after which the views are made anew.
PRAGMA application_id = 0x41505458;  -- 'APTX'

-- Machines, by what they report of themselves.
CREATE TABLE host(
  host_id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  hostname TEXT NOT NULL,
  cpu_model TEXT NOT NULL,
  n_cores INTEGER NOT NULL,
  ram_bytes INTEGER NOT NULL,
  gpu_model TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;

-- What computed: the sources, how they were compiled, what they were linked with.
CREATE TABLE build(
  build_id INTEGER PRIMARY KEY,
  git_sha TEXT NOT NULL,
  dirty INTEGER NOT NULL CHECK(dirty IN (0, 1)),
  compiler TEXT NOT NULL,
  flags TEXT NOT NULL,
  torch TEXT NOT NULL,
  cuda TEXT NOT NULL,
  cudnn TEXT NOT NULL,
  UNIQUE(git_sha, dirty, compiler, flags, torch, cuda, cudnn)
) STRICT;

-- Data sets as runs really read them; sha256 is that of the packed content.
CREATE TABLE dataset(
  dataset_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  variant TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  n_train INTEGER NOT NULL,
  n_test INTEGER NOT NULL,
  lossy INTEGER NOT NULL CHECK(lossy IN (0, 1)),
  UNIQUE(name, variant, sha256)
) STRICT;

CREATE TABLE experiment(
  experiment_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,  -- "wang2019:table5"
  title TEXT NOT NULL,
  source TEXT NOT NULL,
  text TEXT NOT NULL,
  command_line TEXT NOT NULL,
  target_metric TEXT,
  target_value REAL,
  report TEXT NOT NULL,
  created_utc TEXT NOT NULL,
  CHECK((target_metric IS NULL) = (target_value IS NULL))
) STRICT;

-- One resolved run of a grid, seed included. `config` holds every setting that decides the result;
-- the columns beside it are the axes that everybody filters on, and what must be equal for two cells
-- to be compared. (JSON functions have no place in tables and views: the SQLite of current
-- distributions refuses them there under trusted_schema = OFF.)
CREATE TABLE cell(
  cell_id INTEGER PRIMARY KEY,
  run_key TEXT NOT NULL UNIQUE,
  purpose TEXT NOT NULL CHECK(purpose IN ('accuracy', 'timing')),
  method TEXT NOT NULL,
  schedule TEXT NOT NULL,
  network TEXT NOT NULL,
  dataset TEXT NOT NULL,
  seed INTEGER NOT NULL,
  split TEXT NOT NULL,
  train_examples INTEGER NOT NULL,
  recipe TEXT NOT NULL,  -- JSON
  batch_size INTEGER NOT NULL,
  precision TEXT NOT NULL,
  threads INTEGER NOT NULL,
  device TEXT NOT NULL,
  config TEXT NOT NULL  -- JSON
) STRICT;

-- The cells of an experiment with their labels in its tables. An excluded run has its reason and no
-- cell.
CREATE TABLE experiment_cell(
  experiment_cell_id INTEGER PRIMARY KEY,
  experiment_id INTEGER NOT NULL REFERENCES experiment ON DELETE CASCADE,
  cell_id INTEGER REFERENCES cell,
  position INTEGER NOT NULL,  -- in the experiment's order
  method_label TEXT NOT NULL,
  schedule_label TEXT NOT NULL,
  network_label TEXT NOT NULL,
  dataset TEXT NOT NULL,
  purpose TEXT NOT NULL,
  seed INTEGER NOT NULL,
  excluded TEXT NOT NULL,
  UNIQUE(experiment_id, cell_id),
  CHECK((cell_id IS NULL) = (excluded <> ''))
) STRICT;

-- One attempt at a cell. Times are nanoseconds of a steady clock; step_ns is the list of step times
-- without warm-up, 8 bytes each, little endian.
CREATE TABLE run(
  run_id INTEGER PRIMARY KEY,
  cell_id INTEGER NOT NULL REFERENCES cell,
  attempt INTEGER NOT NULL CHECK(attempt >= 1),
  host_id INTEGER NOT NULL REFERENCES host,
  build_id INTEGER NOT NULL REFERENCES build,
  dataset_id INTEGER REFERENCES dataset,
  state TEXT NOT NULL CHECK(state IN ('running', 'finished', 'diverged', 'failed', 'oom', 'timeout',
                                      'interrupted', 'lost')),
  isolated INTEGER NOT NULL CHECK(isolated IN (0, 1)),
  timing_valid INTEGER NOT NULL DEFAULT 0 CHECK(timing_valid IN (0, 1)),
  taint TEXT NOT NULL DEFAULT '[]',
  run_directory TEXT NOT NULL,
  started_utc TEXT NOT NULL,
  ended_utc TEXT,
  steps INTEGER,
  warmup_steps INTEGER,
  train_ns INTEGER,
  eval_ns INTEGER,
  data_ns INTEGER,
  wall_ns INTEGER,
  warmup_ns INTEGER,
  step_ns_median REAL,
  step_ns_q1 REAL,
  step_ns_q3 REAL,
  step_ns BLOB CHECK(step_ns IS NULL OR length(step_ns) % 8 = 0),
  peak_rss_bytes INTEGER,
  diverged_step INTEGER,
  diverged_layer TEXT,
  exit_code INTEGER,
  signal INTEGER,
  error TEXT NOT NULL DEFAULT '',
  environment TEXT NOT NULL,
  UNIQUE(cell_id, attempt),
  CHECK((state = 'running') = (ended_utc IS NULL))
) STRICT;

CREATE UNIQUE INDEX one_running ON run(cell_id) WHERE state = 'running';

CREATE TABLE metric(
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  name TEXT NOT NULL,
  split TEXT NOT NULL,
  step INTEGER NOT NULL,
  epoch REAL NOT NULL,
  train_ns INTEGER NOT NULL,
  value REAL,
  special TEXT CHECK(special IN ('nan', '+inf', '-inf')),
  PRIMARY KEY(run_id, name, split, step),
  CHECK((value IS NULL) = (special IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE layer_metric(
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  layer TEXT NOT NULL,
  product TEXT NOT NULL,
  method TEXT NOT NULL,
  calls INTEGER NOT NULL,
  exact_calls INTEGER NOT NULL,
  macs_dense INTEGER NOT NULL,
  macs_done INTEGER NOT NULL,
  density REAL,  -- NULL where it has no meaning
  PRIMARY KEY(run_id, layer, product, method)
) STRICT, WITHOUT ROWID;

-- Timing runs: interleaved blocks of exact and approximated steps.
CREATE TABLE timing_block(
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  pair INTEGER NOT NULL,
  arm TEXT NOT NULL CHECK(arm IN ('dense', 'approx')),
  block_order INTEGER NOT NULL,
  steps INTEGER NOT NULL CHECK(steps > 0),
  ns INTEGER NOT NULL CHECK(ns > 0),
  PRIMARY KEY(run_id, pair, arm)
) STRICT, WITHOUT ROWID;

-- Kernel benchmarks have no network, data set or seed, hence tables of their own.
CREATE TABLE kernel_run(
  kernel_run_id INTEGER PRIMARY KEY,
  host_id INTEGER NOT NULL REFERENCES host,
  build_id INTEGER NOT NULL REFERENCES build,
  started_utc TEXT NOT NULL,
  environment TEXT NOT NULL
) STRICT;

CREATE TABLE kernel_case(
  kernel_case_id INTEGER PRIMARY KEY,
  op TEXT NOT NULL,
  method TEXT NOT NULL,
  variant TEXT NOT NULL,
  shape TEXT NOT NULL,
  precision TEXT NOT NULL,
  threads INTEGER NOT NULL,
  device TEXT NOT NULL,
  UNIQUE(op, method, variant, shape, precision, threads, device)
) STRICT;

CREATE TABLE kernel_result(
  kernel_run_id INTEGER NOT NULL REFERENCES kernel_run ON DELETE CASCADE,
  kernel_case_id INTEGER NOT NULL REFERENCES kernel_case,
  label TEXT NOT NULL,  -- what its list of shapes calls the shape, may be empty
  n INTEGER NOT NULL,
  ns_median REAL,
  ns_q1 REAL,
  ns_q3 REAL,
  ns BLOB NOT NULL CHECK(length(ns) = 8 * n),
  baseline_n INTEGER NOT NULL,
  baseline_ns_median REAL,
  baseline_ns BLOB NOT NULL CHECK(length(baseline_ns) = 8 * baseline_n),
  ratio REAL,
  ratio_lo REAL,
  ratio_hi REAL,
  gflops REAL,
  dense_flops REAL,
  flops REAL,
  plan_ns REAL,
  max_abs_error REAL,
  max_rel_error REAL,
  special TEXT NOT NULL,  -- {"max_rel_error": "nan"}: which is not finite
  verdict TEXT NOT NULL CHECK(verdict IN ('faster', 'slower', 'same', 'ambiguous', 'skipped')),
  reason TEXT NOT NULL,
  PRIMARY KEY(kernel_run_id, kernel_case_id)
) STRICT, WITHOUT ROWID;

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

-- Version 3: a block of a timing run knows whether its threads had a physical core each, and how
-- often it was done again because they had not.
ALTER TABLE timing_block ADD COLUMN core_share REAL;  -- of a core, each; NULL where not probed
ALTER TABLE timing_block ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;

-- Version 4: a cell says which of the training images `train_examples` are (SubsetKind); those of
-- earlier versions were one draw for all seeds.
ALTER TABLE cell ADD COLUMN train_subset TEXT NOT NULL DEFAULT 'shared';

-- Version 5: a kernel result says which exact path it is held against, whether a layer would take
-- its variant, how much its plan kept and what the machine's cores could do at most. Of results of
-- earlier versions none of it is known.
ALTER TABLE kernel_result ADD COLUMN baseline_variant TEXT NOT NULL DEFAULT '';
ALTER TABLE kernel_result ADD COLUMN chosen INTEGER CHECK(chosen IN (0, 1));
ALTER TABLE kernel_result ADD COLUMN density REAL;  -- share of the exact product's multiply-adds
ALTER TABLE kernel_result ADD COLUMN ceiling_gflops REAL;  -- of multiply-adds in registers

-- Version 6: which variant computed each product of each layer, and how often, as the worker
-- counted it. Of runs of earlier versions it is not known.
CREATE TABLE layer_variant(
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  layer TEXT NOT NULL,
  product TEXT NOT NULL,
  plan TEXT NOT NULL,     -- the kind of plan, "PrunedDY"
  variant TEXT NOT NULL,  -- "sparse_rows"
  calls INTEGER NOT NULL,
  PRIMARY KEY(run_id, layer, product, plan, variant)
) STRICT, WITHOUT ROWID;

-- Version 7: what was computed has a name that no other machine gives: the moment it began, in
-- nanoseconds since 1970 as 16 hexadecimal digits, then what tells it from others of that moment. In
-- the order of these names is in that of time. Of earlier versions the name follows from the row, so
-- that it is the same in every copy of a store.
ALTER TABLE run ADD COLUMN uid TEXT NOT NULL DEFAULT '';
UPDATE run SET uid = (
  SELECT printf('%016x-%s%s', CAST(strftime('%s', run.started_utc) AS INTEGER) * 1000000000 + attempt,
                substr(c.run_key, 1, 16), substr(h.fingerprint, 1, 16))
    FROM cell c, host h WHERE c.cell_id = run.cell_id AND h.host_id = run.host_id);
CREATE UNIQUE INDEX run_uid ON run(uid) WHERE uid <> '';

ALTER TABLE kernel_run ADD COLUMN uid TEXT NOT NULL DEFAULT '';
UPDATE kernel_run SET uid = (
  SELECT printf('%016x-%s%s', CAST(strftime('%s', kernel_run.started_utc) AS INTEGER) * 1000000000 +
                              kernel_run_id, substr(h.fingerprint, 1, 16), kernel_run.experiment)
    FROM host h WHERE h.host_id = kernel_run.host_id);
CREATE UNIQUE INDEX kernel_run_uid ON kernel_run(uid) WHERE uid <> '';

ALTER TABLE study_run ADD COLUMN uid TEXT NOT NULL DEFAULT '';
UPDATE study_run SET uid = (
  SELECT printf('%016x-%s%s', CAST(strftime('%s', study_run.started_utc) AS INTEGER) * 1000000000 +
                              study_run_id, substr(h.fingerprint, 1, 16), study_run.name)
    FROM host h WHERE h.host_id = study_run.host_id);
CREATE UNIQUE INDEX study_run_uid ON study_run(uid) WHERE uid <> '';

-- Version 8: a cell says at which accuracy its training ends early (RunConfig::stop_at), a block at
-- what clock it was timed, of the core on a CPU, of the multiprocessors on a GPU, and a kernel result
-- how many bytes its plan has to move at least and what the memory does at most. Trainings of earlier
-- versions go to their end; of them and of earlier results the rest is not known.
ALTER TABLE cell ADD COLUMN stop_at REAL NOT NULL DEFAULT 0;
ALTER TABLE timing_block ADD COLUMN clock_mhz REAL;
ALTER TABLE kernel_result ADD COLUMN bytes REAL;
ALTER TABLE kernel_result ADD COLUMN memory_gbs REAL;  -- of a copy, measured: read and written

-- Version 9: how many bytes a rank sent of each layer where several train one network, the mean over
-- the ranks, beside those that exact training would have sent in the same steps. Of runs of earlier
-- versions it is not known; one rank sends nothing.
CREATE TABLE layer_traffic(
  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
  layer TEXT NOT NULL,     -- a module with parameters; '': what goes along with the gradients
  calls INTEGER NOT NULL,  -- training steps
  bytes INTEGER NOT NULL,
  bytes_dense INTEGER NOT NULL,
  PRIMARY KEY(run_id, layer)
) STRICT, WITHOUT ROWID;

-- Version 10: a cell says after how many epochs without a better accuracy its training ends
-- (RunConfig::patience), and a run what ended it before its length (EarlyEnd, '' for nothing).
-- Trainings of earlier versions have no patience; whether they reached their target, `stop_at` and
-- their evaluations say.
-- A timing block says what held its device back by the word of the driver ('': nothing, NULL: no
-- driver tells). A kernel result says at what clock its repetitions ran, of the core on a CPU, of the
-- multiprocessors on a GPU, and how many were left out because something held the device back. Of
-- earlier results none of it is known.
-- A run says how long it took until its first step and how long it did other things than training,
-- evaluation and warm-up: then all parts together are `wall_ns`. Of earlier runs neither is known.
ALTER TABLE cell ADD COLUMN patience INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN ended_by TEXT NOT NULL DEFAULT ''
  CHECK(ended_by IN ('', 'target', 'patience'));
ALTER TABLE timing_block ADD COLUMN slowed_by TEXT;
ALTER TABLE kernel_result ADD COLUMN clock_mhz REAL;  -- the median, as that of the exact path
ALTER TABLE kernel_result ADD COLUMN baseline_clock_mhz REAL;
ALTER TABLE kernel_result ADD COLUMN clock_khz BLOB
  CHECK(clock_khz IS NULL OR length(clock_khz) = 8 * n);
ALTER TABLE kernel_result ADD COLUMN baseline_clock_khz BLOB
  CHECK(baseline_clock_khz IS NULL OR length(baseline_clock_khz) = 8 * baseline_n);
ALTER TABLE kernel_result ADD COLUMN held_back TEXT NOT NULL DEFAULT '{}';  -- repetitions, by what
ALTER TABLE run ADD COLUMN start_ns INTEGER;
ALTER TABLE run ADD COLUMN aside_ns INTEGER;

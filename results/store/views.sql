-- The views are what scripts may rely on: tables may change with the schema's version, a column of a
-- view keeps its name and meaning.

-- Cells with the settings that decide which of them can be compared.
CREATE VIEW v_cell AS
SELECT cell_id, run_key, purpose, method, schedule, network, dataset, seed, split, train_examples,
       recipe, batch_size, precision, threads, device, train_subset, stop_at,
       patience
  FROM cell;

-- The accuracy of every cell with a result: that of its last attempt with one. No row where that
-- attempt diverged, and none of cells that may end early: at a target (`stop_at` above 0) the accuracy
-- is the target's, and by a patience the runs end in different epochs. `accuracy` is the last evaluation on the test part, a share.
CREATE VIEW v_final AS
SELECT c.cell_id, c.run_key, c.purpose, c.method, c.schedule, c.network, c.dataset, c.seed, c.split,
       c.train_examples, c.recipe, c.batch_size, c.precision, c.threads, c.device, c.train_subset,
       c.stop_at, r.run_id, r.host_id, r.build_id, r.dataset_id, m.value AS accuracy, m.step,
       m.epoch, r.train_ns, r.eval_ns, r.wall_ns, r.step_ns_median, r.peak_rss_bytes
  FROM v_cell c
  JOIN run r USING(cell_id)
  JOIN metric m ON m.run_id = r.run_id AND m.name = 'accuracy' AND m.split = 'test'
 WHERE c.purpose = 'accuracy' AND c.stop_at = 0 AND c.patience = 0 AND r.state = 'finished'
   AND m.value IS NOT NULL
   AND r.attempt = (SELECT max(attempt) FROM run x
                     WHERE x.cell_id = r.cell_id AND x.state IN ('finished', 'diverged'))
   AND m.step = (SELECT max(step) FROM metric x
                  WHERE x.run_id = r.run_id AND x.name = 'accuracy' AND x.split = 'test');

-- Method against dense, paired by seed, everything else equal. `speedup` is that of whole trainings
-- which may have shared the machine; v_timing has the one that was measured for its own sake.
CREATE VIEW v_paired AS
SELECT a.method, a.schedule, a.network, a.dataset, a.split, a.train_examples, a.recipe,
       a.batch_size, a.precision, a.threads, a.device, a.host_id, a.purpose, a.seed, a.run_id,
       b.run_id AS dense_run_id, a.accuracy, b.accuracy AS dense_accuracy,
       b.accuracy - a.accuracy AS accuracy_loss,
       CASE WHEN a.train_ns > 0 THEN 1.0 * b.train_ns / a.train_ns END AS speedup
  FROM v_final a
  JOIN v_final b USING(network, dataset, split, train_examples, train_subset, recipe, batch_size,
                       precision, threads, device, host_id, seed, purpose)
 WHERE b.method = 'dense' AND a.method <> 'dense' AND a.dataset_id IS b.dataset_id;

-- Interleaved block pairs of timing runs: the last finished attempt of each cell.
CREATE VIEW v_timing AS
SELECT c.cell_id, c.run_key, c.purpose, c.method, c.schedule, c.network, c.dataset, c.seed, c.split,
       c.train_examples, c.recipe, c.batch_size, c.precision, c.threads, c.device, c.train_subset,
       c.stop_at, r.run_id, r.host_id, r.build_id, r.timing_valid, r.taint, d.pair,
       d.steps AS dense_steps, d.ns AS dense_ns, a.steps AS approx_steps, a.ns AS approx_ns,
       (1.0 * d.ns / d.steps) / (1.0 * a.ns / a.steps) AS speedup,
       min(d.core_share, a.core_share) AS core_share, d.clock_mhz AS dense_clock_mhz,
       a.clock_mhz AS approx_clock_mhz, d.slowed_by AS dense_slowed_by,
       a.slowed_by AS approx_slowed_by
  FROM v_cell c
  JOIN run r USING(cell_id)
  JOIN timing_block d ON d.run_id = r.run_id AND d.arm = 'dense'
  JOIN timing_block a ON a.run_id = r.run_id AND a.arm = 'approx' AND a.pair = d.pair
 WHERE c.purpose = 'timing' AND r.state = 'finished'
   AND r.attempt = (SELECT max(attempt) FROM run x
                     WHERE x.cell_id = r.cell_id AND x.state IN ('finished', 'diverged'));

CREATE VIEW v_kernel AS
SELECT k.kernel_run_id, r.kernel_case_id, k.experiment, k.started_utc, k.host_id, k.build_id, c.op, c.method, c.variant, c.shape,
       r.label, c.precision, c.threads, c.device, r.n, r.ns_median, r.ns_q1, r.ns_q3, r.baseline_ns_median,
       r.ratio, r.ratio_lo, r.ratio_hi, r.gflops, r.dense_flops, r.flops, r.plan_ns,
       r.max_abs_error, r.max_rel_error, r.special, r.verdict, r.reason, r.baseline_variant,
       r.chosen, r.density, r.ceiling_gflops, r.bytes, r.memory_gbs, r.clock_mhz,
       r.baseline_clock_mhz, r.held_back
  FROM kernel_result r
  JOIN kernel_run k USING(kernel_run_id)
  JOIN kernel_case c USING(kernel_case_id);

-- Studies, newest last. `content` is a table as JSON.
CREATE VIEW v_study AS
SELECT study_run_id, experiment, name, params, methods, host_id, build_id, started_utc, content
  FROM study_run;

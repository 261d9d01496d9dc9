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

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

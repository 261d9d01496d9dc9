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

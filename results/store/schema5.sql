-- Version 5: a kernel result says which exact path it is held against, whether a layer would take
-- its variant, how much its plan kept and what the machine's cores could do at most. Of results of
-- earlier versions none of it is known.
ALTER TABLE kernel_result ADD COLUMN baseline_variant TEXT NOT NULL DEFAULT '';
ALTER TABLE kernel_result ADD COLUMN chosen INTEGER CHECK(chosen IN (0, 1));
ALTER TABLE kernel_result ADD COLUMN density REAL;  -- share of the exact product's multiply-adds
ALTER TABLE kernel_result ADD COLUMN ceiling_gflops REAL;  -- of multiply-adds in registers

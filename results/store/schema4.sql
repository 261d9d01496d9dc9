-- Version 4: a cell says which of the training images `train_examples` are (SubsetKind); those of
-- earlier versions were one draw for all seeds.
ALTER TABLE cell ADD COLUMN train_subset TEXT NOT NULL DEFAULT 'shared';


-- schemactl: precondition
SELECT 1 FROM ${dataset}.orders WHERE note = 'none';

-- schemactl: run
UPDATE ${dataset}.orders SET old = 'mended' WHERE note = 'none';
UPDATE ${dataset}.orders SET note = '0' WHERE note = 'none';

-- schemactl: undo
UPDATE ${dataset}.orders SET note = 'none', old = 'o' WHERE old = 'mended';

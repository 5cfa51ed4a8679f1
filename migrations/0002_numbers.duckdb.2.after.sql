UPDATE ${dataset}.orders SET amount = 'many';
-- schemactl: undo
UPDATE ${dataset}.orders SET amount = '5'
UPDATE ${dataset}.orders SET paid = 1;
-- schemactl: undo

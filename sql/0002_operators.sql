-- `&&` under a guess that does not depend on the array: that nearly all rows pass. PostgreSQL's own guess for an array
-- that it does not know yet is 1 %, so that a statement planned once seems dear beside one planned for the values at
-- hand, and every read is planned anew. Most objects can be read by those who ask for them.
CREATE OPERATOR &&~ (FUNCTION = arrayoverlap, LEFTARG = anyarray, RIGHTARG = anyarray, RESTRICT = neqsel);

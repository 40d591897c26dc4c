-- Months of users that begin on another day than the first: anniversary periods.
--
-- The version before works beside this: its functions are replaced by those that know of anchors, and it
-- gives nobody one.

-- The days of the month on which the user's periods end, and the months from which on they do: each is the
-- month's number times 32 plus the day, in order. NULL: the user's periods are calendar months, as before. It
-- is here and in no table of its own since every submit reads this row anyway, and needs nothing else of it.
ALTER TABLE analysis.account
  ADD COLUMN anchors int[] CHECK (
    array_ndims(anchors) = 1 AND array_lower(anchors, 1) = 1 AND array_position(anchors, NULL) IS NULL
    AND cardinality(anchors) <= 1000 AND 0 < ALL (anchors));

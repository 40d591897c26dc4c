-- When a submit last had workers woken by its own transaction, in milliseconds since 1970. It is a sequence
-- since what is written to one is seen at once, and keeps nobody waiting. The version before works beside
-- this: it knows nothing of it, and wakes workers after its commits.
CREATE SEQUENCE analysis.woken_at AS bigint;

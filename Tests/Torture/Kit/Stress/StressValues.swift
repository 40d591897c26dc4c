/// What arguments are drawn from. Words in braces stand for what there is: see ``StressDraw``.
enum StressValues {
  /// Parameters that are always given and never get an odd value, each for the sake of another promise of the run.
  static let confined: [String: String] = [
    "p_lease_ms": "a lease of hours would keep jobs of others from the drain",
    "p_delay_ms": "so would a job that is put off",
    "p_delays_ms": "and an event that is",
    "p_every_ms": "a turn that is taken for an hour is nobody's",
    "p_until": "a pause without an end would outlast the run",
    "p_now": "another moment would remove what is not past its time",
    "p_vt": "a mark ahead of all jobs ends the fair order, as it says",
    "p_timeout": "a call that waits for half a minute is none that hangs",
    "p_login": "others are not to see less by it", "p_role": "as before",
    "p_encrypted_by": "no worker of the run has a key", "p_wrapped_key": "as before",
  ]

  /// By function and parameter. Of the lists of one call the same element is taken, so that they fit each other.
  static let ofFunction: [String: [String]] = [
    "add_user.p_user": ["{name}"], "add_user.p_shard": ["analysis.shard_of({name})"],
    "import_users.p_shard": ["analysis.shard_of({name})"],
    "import_users.p_users": [
      "jsonb_build_array(jsonb_build_object('user', {name}, 'zone', 'Asia/Jakarta'))",
      "jsonb_build_array(jsonb_build_object('user', {name}, 'plan', 'stress'))",
    ],
    "rename_user.p_name": ["{name}"], "add_clinic.p_name": ["{clinic}"], "add_plan.p_name": ["'Stress'"],
    "add_plan.p_cost": ["1000"], "set_clinic.p_clinic_kind": ["'clinic'", "'both'"],
    "set_product.p_product": ["'stress'"], "set_product.p_off": ["'{}'", "'{statements}'"],
    "add_token.p_hash": ["{token}"],
    "add_webhook.p_shard": ["{shard}", "NULL"], "add_webhook.p_user": ["{user}", "NULL"],
    "add_webhook.p_clinic": ["NULL", "{clinic}"], "add_webhook.p_has_findings": ["false"],
    "request_share.p_login": ["{clinician}", "NULL"], "request_share.p_carer": ["NULL", "{other}"],
    "request_share.p_carer_shard": ["NULL", "analysis.shard_of({other})"],
    "gateway_share_request.p_login": ["{clinician}", "NULL"],
    "gateway_share_request.p_carer": ["NULL", "{other}"],
    "set_setting.p_name": settings.map(\.name), "set_setting.p_value": settings.map(\.value),
    "set_setting.p_before": settings.map { "analysis.setting_value(\($0.name))" },
    "preview_setting.p_name": settings.map(\.name), "preview_setting.p_value": settings.map(\.value),
    "pause.p_scope": ["'all'", "'type'", "'endpoint'"],
    "pause.p_name": ["''", "'ear'", "'https://e.example'"],
    "resume.p_scope": ["'all'", "'type'", "'endpoint'"],
    "resume.p_name": ["''", "'ear'", "'https://e.example'"],
    "audit_key.p_event": ["'remove_key'"], "audit_worker.p_event": ["'worker_start'", "'worker_stop'"],
    "open_reviews.p_report": ["'agreement'", "'calibration'"],
    "usage_groups.p_by": ["'day'", "'clinic'", "'plan'", "'type'"], "usage_groups.p_first": ["'2020-01-01'"],
    "usage_groups.p_last": ["'2020-12-31'"], "claim.p_lease": ["{fresh}"], "retry_dead.p_jobs": ["{dead}"],
    "complete.p_jobs": ["{leased}"], "complete.p_analysis_id": ["'a'"], "complete.p_conditions": ["'[]'"],
    "complete.p_condition_count": ["0"], "complete.p_answered_at": ["NULL"], "complete.p_serious": ["-1"],
    "complete.p_consult": ["-1"], "complete.p_endpoint_serious": ["false"],
    "complete.p_endpoint_consult": ["false"],
    "complete.p_calls": ["1"], "complete.p_call_ms": ["1"], "complete.p_version": ["'stress'"],
    "fail.p_jobs": ["{leased}"], "fail.p_consume": ["true", "false"],
    "fail.p_class": ["'server'", "'permanent'"],
    "fail.p_message": ["'no'"], "fail.p_calls": ["1"], "fail.p_maybe_counted": ["false"],
    "release.p_jobs": ["{leased}"], "images_of_jobs.p_jobs": ["{leased}"],
    "finish_deliveries.p_outcomes": ["'delivered'", "'failed'"],
  ]

  /// Settings that decide nothing of what the run promises.
  private static let settings: [(name: String, value: String)] = [
    ("'consult_from'", "'0.5'"), ("'report_threshold'", "'3'"), ("'keep_audit'", "'7 years'"),
    ("'consult_from'", "'0.4'"), ("'report_threshold'", "'5'"), ("'statement_grace'", "'2 days'"),
  ]

  /// By parameter and type.
  static let ofTyped: [String: [String]] = [
    "p_from smallint": ["{month}"], "p_to smallint": ["{month}"], "p_from bigint": ["0"],
    "p_from text": ["NULL", "{day}"],
    "p_kind smallint": ["1", "2"], "p_kind text": ["'throat'", "'ear'"],
    "p_kinds text": ["'throat'", "'ear'"],
    "p_priority smallint": ["0", "1", "2"], "p_priority text": ["NULL", "'normal'", "'urgent'", "'bulk'"],
    "p_images bytea": ["{picture}"], "p_images bigint": ["{job}"], "p_first bigint": ["0"],
    "p_last bigint": ["{job}"],
    "p_key bigint": ["77"],
    "p_sha256 bytea": ["sha256({picture})"], "p_before bigint": ["NULL", "{job}"],
    "p_after text": ["''", "{user}"],
    "p_event bigint": ["{event}"], "p_key text": ["NULL", "{key}"],
  ]

  /// By parameter. A name and an address are what no log may hold, in two pieces: the server logs what it refuses.
  static let named: [String: [String]] = [
    "p_shard": ["{shard}"], "p_shards": ["{shard}"], "p_user": ["{user}"], "p_users": ["{user}"],
    "p_user_id": ["{number}"],
    "p_job": ["{job}"], "p_jobs": ["{job}"], "p_before_job": ["NULL", "{job}"], "p_period": ["{month}"],
    "p_periods": ["{month}"], "p_before_period": ["NULL", "{month}"], "p_worker": ["{secret}"],
    "p_lease": ["{lease}"],
    "p_leases": ["{lease}"], "p_token": ["{token}"], "p_tokens": ["{token}"], "p_hash": ["{token}"],
    "p_code": ["{token}"], "p_family": ["{token}"], "p_turn": ["{token}"], "p_next": ["{token}"],
    "p_session": ["NULL", "1"],
    "p_batch": ["{batch}", "NULL"], "p_batches": ["{batch}"], "p_webhook": ["{webhook}"],
    "p_share": ["{share}"],
    "p_events": ["{event}"], "p_clinic": ["{clinic}", "NULL"], "p_clinics": ["{clinic}"],
    "p_plan": ["{plan}"],
    "p_zone": ["'UTC'", "'Asia/Jakarta'", "'America/New_York'"], "p_role": ["{login}"],
    "p_login": ["{login}"],
    "p_lanes": ["4", "5", "6", "7", "8", "9", "10", "11"], "p_limits": ["1", "2"], "p_n": ["0", "1", "2"],
    "p_vt": ["0"],
    "p_lease_ms": ["1", "300", "1000"], "p_every_ms": ["1", "100"], "p_grace_ms": ["0", "100"],
    "p_delay_ms": ["0", "50", "1000"], "p_delays_ms": ["0", "50", "1000"],
    "p_timeout": ["interval '0'", "interval '200 ms'"],
    "p_now": ["now()"], "p_until": ["clock_timestamp() + interval '1 s'"], "p_keys": ["NULL", "{key}"],
    "p_at": ["NULL", "NULL", "now() + interval '1 s'"],
    "p_expires": ["NULL", "NULL", "now() + interval '5 s'"],
    "p_reference": ["NULL", "{key}"], "p_references": ["NULL", "{key}"],
    "p_priorities": ["NULL", "'normal'", "'bulk'"],
    "p_kinds": ["'throat'", "'ear'"], "p_image": ["{picture}"], "p_max_attempts": ["1", "3", "10"],
    "p_anchor": ["1", "15", "31"], "p_verdict": ["'agree'", "'disagree'", "'unsure'"],
    "p_state": ["NULL", "'dead'", "'running'"],
    "p_task": ["'sweep'", "'gauges'", "'partitions'"], "p_url": ["'https://127.0.0.1:1/stress'"],
    "p_secret": ["decode(repeat('07', 150), 'hex')"], "p_price": ["'1'", "'0.5'"],
    "p_currency": ["'EUR'", "'IDR'"],
    "p_encrypted_by": ["NULL"], "p_wrapped_key": ["NULL"], "p_reading": ["{reading}"],
    "p_export": ["{reading}"],
    "p_limit": ["1", "20", "1000"], "p_looks": ["1", "20", "1000"],
    "p_name": ["NULL", "'Wilhelmina Quat' || 'remains'"],
    "p_email": ["NULL", "'stress@patients' || '.example'"], "p_width": ["NULL", "640"],
    "p_height": ["NULL", "480"], "p_object_bytes": ["NULL"],
  ]

  /// What rows that are parameters are made of, by type.
  static let rows = ["analysis.submissions": submissions, "analysis.submission": submission]

  private static let submissions: [StressFunction.Parameter] =
    submission.map { .init(name: $0.name, type: $0.type + "[]") } + [
      .init(name: "p_reference", type: "text[]"), .init(name: "p_object_bytes", type: "integer[]"),
    ]

  private static let submission: [StressFunction.Parameter] = [
    .init(name: "p_user", type: "text"), .init(name: "p_kind", type: "smallint"),
    .init(name: "p_priority", type: "smallint"), .init(name: "p_sha256", type: "bytea"),
    .init(name: "p_width", type: "integer"), .init(name: "p_height", type: "integer"),
    .init(name: "p_unsanitized", type: "boolean"), .init(name: "p_key", type: "text"),
    .init(name: "p_at", type: "timestamp with time zone"),
    .init(name: "p_expires", type: "timestamp with time zone"), .init(name: "p_source", type: "text"),
    .init(name: "p_encrypted_by", type: "bigint"), .init(name: "p_wrapped_key", type: "bytea"),
  ]

  /// By type.
  static let typed: [String: [String]] = [
    "smallint": ["0", "1", "2"], "integer": ["0", "1", "5", "50"], "bigint": ["0", "1", "{job}"],
    "boolean": ["true", "false"], "text": ["NULL", "'stress'"], "name": ["NULL", "{login}"],
    "bytea": ["NULL", "''"],
    "timestamp with time zone": ["NULL", "now()", "now() - interval '1 day'", "now() + interval '1 hour'"],
    "date": ["current_date"], "interval": ["interval '0'"], "jsonb": ["NULL", "'{}'", "'{\"a\": 1}'"],
    "double precision": ["0", "0.5", "0.9"],
  ]

  /// What nobody means, by type. Of numbers of jobs, users and the like there is none of these.
  static let odd: [String: [String]] = [
    "smallint": ["-1", "32767", "(-32768)"], "integer": ["-1", "2147483647", "(-2147483648)"],
    "bigint": ["-1", "9223372036854775807", "(-9223372036854775808)"],
    "text": [
      "''", "repeat('x', 300)", "'a\u{200B}b'", "'\u{202E}'", "'Zoe\u{308}'", "'O''Neil \\ %s; --'", "'x'",
    ],
    "name": ["'nobody'"], "bytea": ["''", "sha256('odd')"], "interval": ["interval '-1 s'"],
    "timestamp with time zone": ["'infinity'", "'-infinity'", "'0001-01-01'"],
    "date": ["'infinity'", "'0001-01-01 BC'"],
    "jsonb": ["'[]'", "'\"x\"'", "'null'", "'{\"user\": 5}'"], "double precision": ["'NaN'", "1e300", "-2"],
  ]

  /// Functions that come more often or more seldom than others, whose share is 4.
  static let shares: [String: Int] = [
    "submit": 16, "submit_one": 16, "submit_image": 16, "submit_images": 16, "submit_in_batch": 16,
    "gateway_submit": 16,
    "claim": 16,
    "complete": 24, "fail": 12, "add_user": 24, "add_token": 12, "add_webhook": 8, "request_share": 12,
    "accept_share": 12, "cancel": 8, "uncancel": 8, "open_results": 8, "erase_user": 1, "erase_part": 1,
    "rename_user": 2,
    "grant_clinics": 2, "pause": 2, "add_plan": 1,
  ]
}

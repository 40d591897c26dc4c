import Control
public import PostgreSQL
import Queue
import Support

/// Users and stored images in a database with the queue's schema, and jobs on them.
///
/// The users have a plan with a limit that they never reach, so that every submit counts against one.
public struct QueueFixture: Sendable {
  /// An image that is stored, and whose it is.
  public struct StoredPicture: Sendable {
    /// The user, as a submitter names them.
    public let user: String
    /// By what the image is named.
    public let sha256: [UInt8]
  }

  /// An image as it is stored when it is encrypted.
  public struct EncryptedPicture: Sendable {
    let bytes: [UInt8]
    let sha256: [UInt8]
    let keyID: Int64
    let wrappedKey: [UInt8]

    /// The encrypted bytes, the image's hash, and its own key under the one of this number.
    public init(bytes: [UInt8], sha256: [UInt8], keyID: Int64, wrappedKey: [UInt8]) {
      self.bytes = bytes
      self.sha256 = sha256
      self.keyID = keyID
      self.wrappedKey = wrappedKey
    }
  }

  /// How many users there are.
  public static let userCount = 50
  /// How many images most rows use.
  public static let usualPictures = 200
  /// How large an image is in most rows, in bytes.
  public static let usualBytes = 120_000
  /// Analyses a month of each user.
  public static let monthlyLimit = 1_000_000_000

  /// The images, in turn those of all users.
  public let pictures: [StoredPicture]

  /// The names of the users.
  public static var users: [String] { (0..<userCount).map { "clinic-\($0)" } }

  /// Makes the users and stores the images, each user's in turn.
  ///
  /// - Parameters:
  ///   - shards: Over how many shards the users are spread.
  ///   - encrypting: Encrypts a user's image; nil to store the images in plaintext.
  public static func make(
    in database: BenchmarkDatabase,
    pictures: [[UInt8]] = PictureBytes.pictures(usualPictures, bytes: usualBytes), shards: Int = 1,
    encrypting: ((_ user: String, _ picture: [UInt8]) throws -> EncryptedPicture)? = nil
  ) async throws -> QueueFixture {
    let pool = database.pool
    // A billion jobs of one user may wait.
    _ = try await pool.query(
      "UPDATE analysis.setting SET value = '1000000000' WHERE name IN ('max_waiting', 'max_waiting_per_user')"
    )
    _ = try await pool.query(
      "UPDATE analysis.setting SET value = $1 WHERE name = 'shards'", [.text("\(shards)")])
    try await PlanDirectory(pool).setLimit(plan: "premium", limit: monthlyLimit)
    let users = UserDirectory(pool)
    for user in Self.users {
      _ = try await users.add(NewUser(reference: user, plan: "premium", zone: "UTC", name: nil, email: nil))
    }
    var stored: [StoredPicture] = []
    for (number, bytes) in pictures.enumerated() {
      let user = Self.users[number % userCount]
      let encrypted = try encrypting?(user, bytes)
      let sha256 = try await pool.query(
        Self.storeImage,
        [
          .text(user), .bytes(encrypted?.sha256 ?? SHA256.digest(of: bytes)),
          .bytes(encrypted?.bytes ?? bytes),
          .int64(encrypted?.keyID), .bytes(encrypted?.wrappedKey),
        ]
      ).single().bytes(0)
      stored.append(StoredPicture(user: user, sha256: sha256))
    }
    return QueueFixture(pictures: stored)
  }

  /// The images that are stored in a database, in the order in which they were stored.
  public static func pictures(in database: ConnectionPool) async throws -> [StoredPicture] {
    let rows = try await database.query(
      """
      SELECT a.user_ref, k.sha256 FROM analysis.image k JOIN analysis.account a USING (shard, user_id) ORDER BY k.id
      """)
    return try rows.map { StoredPicture(user: try $0.string(0), sha256: try $0.bytes(1)) }
  }

  private static let storeImage = """
    INSERT INTO analysis.image (
      shard, period, unsanitized, user_id, created_at, used_at, byte_count, width, height, sha256, bytes, encrypted_by, wrapped_key)
    SELECT a.shard, analysis.period_of(now(), a.zone), false, a.user_id, now(), now(), octet_length(b), 640, 480,
           $2, b, $4, $5
    FROM analysis.account a, (SELECT $3::bytea AS b) p WHERE a.user_ref = $1
    RETURNING sha256
    """

  /// Puts jobs into the queue as many submits of the users in turn would have done, but by sets: half of them for
  /// throats and half for ears, all of normal priority. They stand behind what waits already.
  ///
  /// - Parameter finished: Whether they are to be done instead, each with the smallest result there can be.
  public static func fill(_ database: BenchmarkDatabase, jobs: Int, finished: Bool = false) async throws {
    // A piece at a time: one statement for ten million would sort them on the disk.
    let piece = 500_000
    for first in stride(from: 0, to: jobs, by: piece) {
      _ = try await database.pool.query(
        finished ? fillFinished : fillWaiting,
        [.int64(Int64(first)), .int64(Int64(min(first + piece, jobs) - 1))], deadline: .seconds(3600))
    }
    guard !finished else { return }
    _ = try await database.pool.query(takePlaces, deadline: .seconds(600))
  }

  /// Jobs numbered from $1 to $2, on the images in turn.
  private static let newJobs = """
    WITH picture AS MATERIALIZED (
      SELECT k.shard, k.period, k.id, k.user_id, k.byte_count, k.sha256, row_number() OVER (ORDER BY k.id) - 1 AS place,
             count(*) OVER () AS pictures
      FROM analysis.image k),
    lane AS MATERIALIZED (
      SELECT k AS kind, greatest(
        0, (SELECT max(r.vt) FROM analysis.ready r WHERE r.lane = k * 4 + 1),
        (SELECT max(f.last_vt) FROM analysis.fair_share f WHERE f.lane = k * 4 + 1),
        (SELECT c.now_vt FROM analysis.lane_clock c WHERE c.lane = k * 4 + 1)) AS vt
      FROM generate_series(1, 2) k),
    wanted AS (
      SELECT p.*, l.kind, (l.kind * 4 + 1)::smallint AS lane, nextval('analysis.job_id') AS job_id,
             l.vt + (g / (2 * \(userCount)) + 1) * 1000 AS vt
      FROM generate_series($1::bigint, $2::bigint) g
      JOIN picture p ON p.place = (g / 2) % p.pictures
      JOIN lane l ON l.kind = 1 + g % 2
      ORDER BY g),
    job AS (
      INSERT INTO analysis.job (
        shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period, max_attempts,
        image_unsanitized, image_mark)
      SELECT w.shard, w.period, w.kind, w.lane, w.job_id, w.user_id, w.id, w.vt, now(), w.byte_count, w.period, 10, false,
        substr(w.sha256, 1, 16)
      FROM wanted w
      RETURNING shard, period, kind, lane, id, user_id, vt)
    """

  private static let fillWaiting =
    newJobs + """

      INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
      SELECT j.shard, j.lane, 0, j.period, j.vt, j.id FROM job j
      """

  private static let fillFinished =
    newJobs + """

      INSERT INTO analysis.result (
        shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls, condition_count, analysis_id,
        conditions)
      SELECT j.shard, j.period, j.kind, 1, j.id, j.user_id, now(), 1, 1, 0, 'a', '[]' FROM job j
      """

  /// Where the users' next jobs go: behind what was put in.
  private static let takePlaces = """
    INSERT INTO analysis.fair_share AS f (shard, lane, source, user_id, last_vt, step)
    SELECT a.shard, l.lane, 0, a.user_id, l.vt + 1000, 1000
    FROM analysis.account a, (SELECT r.lane, max(r.vt) AS vt FROM analysis.ready r GROUP BY r.lane) l
    ON CONFLICT (shard, user_id, lane, source) DO UPDATE SET last_vt = greatest(f.last_vt, EXCLUDED.last_vt)
    """
}

import Foundation

/// What a run is told.
struct RunSettings: Sendable {
  var seed: UInt64 = 1
  /// How long faults are caused; setting up, draining and checking come on top.
  var length: Duration = .seconds(60)
  var kinds = FaultKind.all
  /// Workers that are kept running.
  var workers = 3
  /// Logical shards; drawn by the seed unless somebody says how many.
  var shards: Int {
    get { givenShards ?? [4, 1, 8][Int(seed % 3)] }
    set { givenShards = newValue }
  }
  private var givenShards: Int?
  /// Whether each worker that is kept running takes one type of job only, so that none sees all lanes.
  var isSpecialised: Bool { workers > 1 && !seed.isMultiple(of: 2) }
  /// Whether the folder stays also when all is well.
  var keepsFolder = false
  /// Where the logs go.
  var folder: URL
  /// Where the programs lie: beside this one.
  var programs: URL

  /// How long a lease lasts. Fifteen times shorter than usual, so that many are lost in a short time.
  static let leaseDuration = Duration.seconds(1)
  /// How long a call may take.
  static let callDeadline = Duration.seconds(2)
  /// Jobs that wait beyond which nothing is submitted for a while.
  static let backlog = 1200
  /// Jobs that one user may have waiting.
  static let waitingLimit = 200

  /// The settings of a run whose logs go to a folder, with the programs of another.
  init(folder: URL, programs: URL) {
    self.folder = folder
    self.programs = programs
  }
}

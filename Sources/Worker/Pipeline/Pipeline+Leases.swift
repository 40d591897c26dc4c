internal import EventLoop
internal import Images
internal import Queue
internal import Support

/// The leases that this worker holds.
extension Pipeline {
  /// The leases of each shard for which a sign of life is due.
  func heldLeases(of shard: Int16) -> [Int64] {
    leases.filter { $0.value.shard == shard }.map(\.key)
  }

  /// What the database says is still ours; the others were taken for lost, and their jobs run elsewhere.
  func leased(asked: [Int64], stillHeld: Set<Int64>) {
    let lost = Set(asked.filter { !stillHeld.contains($0) && leases[$0] != nil && !isBeingStored($0) })
    guard !lost.isEmpty else { return }
    for id in lost { leases[id] = nil }
    meters.leasesLost.add(lost.count)
    log.warning("Leases were lost; their jobs run elsewhere", ["leases": .int(Int64(lost.count))])
    toRead.remove { lost.contains($0.lease) }
    for index in gates.indices {
      for ready in gates[index].ready.remove(where: { lost.contains($0.job.lease) }) {
        letGoImage(of: ready.job)
      }
    }
    unsanitized = unsanitized.filter { !lost.contains($0.lease) }
    if stage == .running { claimBell.ring() }
  }

  /// A lease whose last jobs are on their way to the store may have gone by that very statement.
  private func isBeingStored(_ id: Int64) -> Bool {
    storing > 0 && (leases[id]?.remaining ?? 0) <= storing
  }

  /// A sign of life is about to be given in a shard.
  func heard(in shard: Int16) {
    shardsHeardIn.insert(shard)
  }

  /// The shards in which this worker holds jobs.
  var shardsWithLeases: Set<Int16> { Set(leases.values.map(\.shard)) }

  func marks(of shard: Int16) -> [(lane: Lane, furthest: Int64)] {
    shards[shard]?.claims.flatMap(\.marks) ?? []
  }

  func published(_ marks: [Lane: PublishedMark], shard: Int16) {
    for gate in gates.indices { shards[shard]?.claims[gate].published(marks) }
  }

  /// The shards in which this worker has claimed further than is published.
  var shardsWithMarks: Set<Int16> {
    Set(shards.filter { $0.value.claims.contains { $0.hasUnpublishedMarks } }.keys)
  }

  /// By which shares the priorities begin from now on.
  func share(_ shares: LaneShares) {
    for shard in shards.keys {
      for gate in gates.indices { shards[shard]?.claims[gate].shares = shares }
    }
    toRead.shares = shares
    for gate in gates.indices { gates[gate].ready.shares = shares }
    configuration.imageDecoders.share(shares)
  }
}

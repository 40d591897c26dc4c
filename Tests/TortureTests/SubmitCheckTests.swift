import Testing

@testable import Support
@testable import TortureKit

@Suite("The checker of the torture run: submits and jobs")
struct SubmitCheckTests {
  @Test("finds nothing in a history without a fault")
  func nothing() {
    let planted = Planted()
    #expect(planted.broken.isEmpty)
    #expect(planted.submits.counts.acknowledged == 10)
    #expect(planted.submits.counts.jobs == 10)
  }

  @Test("names an acknowledged job that is not there")
  func lost() {
    var planted = Planted()
    planted.records.append(SubmitRecord(tag: "gone", user: "u", key: nil, outcome: .created(JobID(99))))
    #expect(planted.broken == ["I1 lost"])
    #expect(planted.submits.counts.lost == 1)
    #expect(planted.submits.findings()[0].broken[0].contains("99"))
  }

  @Test("names a job that a duplicate was answered with and that is not there")
  func lostTwin() {
    var planted = Planted()
    planted.records.append(SubmitRecord(tag: "gone", user: "u", key: "k", outcome: .duplicate(JobID(99))))
    #expect(planted.broken == ["I1 lost"])
  }

  @Test("names a job that has not ended, and leaves one that waits for its time")
  func unended() {
    var planted = Planted()
    planted.add(JobID(20), place: .scheduled)
    #expect(planted.broken.isEmpty)
    planted.add(JobID(21), place: .open)
    #expect(planted.broken == ["I1 ended"])
  }

  @Test("names a job that nobody submitted")
  func unexpected() {
    var planted = Planted()
    planted.facts.jobs.append(DatabaseFacts.Job(id: JobID(50), shard: 0, user: "u", tag: nil, place: .dead))
    #expect(planted.broken == ["I2 unexpected"])
    #expect(planted.submits.counts.unexpected == 1)
  }

  @Test("names a job that was refused and is there")
  func refusedAndThere() {
    var planted = Planted()
    planted.add(JobID(50), outcome: .refused("quota"), place: .dead)
    #expect(planted.broken == ["I2 unexpected"])
  }

  @Test("names a submit that made two jobs")
  func duplicatedTag() {
    var planted = Planted()
    planted.facts.jobs.append(
      DatabaseFacts.Job(id: JobID(50), shard: 0, user: "u", tag: "tag-3", place: .dead))
    #expect(planted.broken.contains("I3 duplicated"))
    #expect(planted.submits.counts.duplicated == 1)
  }

  @Test("names a key that gave two jobs, also when one of the answers was lost")
  func duplicatedKey() {
    var planted = Planted()
    planted.add(JobID(50), key: "k", place: .dead)
    planted.add(JobID(51), key: "k", outcome: .unknown, place: .dead)
    #expect(planted.broken == ["I3 duplicated"])
  }

  @Test(
    "takes a repeat of a key that was answered with the first job for right, and another user's key for another"
  )
  func repeatedKey() {
    var planted = Planted()
    planted.add(JobID(50), key: "k", place: .dead)
    planted.records.append(SubmitRecord(tag: "again", user: "u", key: "k", outcome: .duplicate(JobID(50))))
    planted.records.append(SubmitRecord(tag: "lost", user: "u", key: "k", outcome: .unknown))
    planted.add(JobID(51), user: "v", key: "k", place: .dead)
    #expect(planted.broken.isEmpty)
  }

  @Test("counts a submit without an answer as recovered when its job is there, and as nothing when not")
  func recovered() {
    var planted = Planted()
    planted.add(JobID(50), outcome: .unknown)
    planted.records.append(SubmitRecord(tag: "never", user: "u", key: nil, outcome: .unknown))
    #expect(planted.broken.isEmpty)
    #expect(planted.submits.counts.unknown == 2)
    #expect(planted.submits.counts.recovered == 1)
  }
}

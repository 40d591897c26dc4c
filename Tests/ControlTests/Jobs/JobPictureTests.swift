import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The picture of a job")
struct JobPictureTests {
  @Test("is read by the role privacy, after the audit names who reads it and why")
  func read() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = JobID(try #require(try await queue.submit([Ask("ann", image: "a photo")])[0].job))
      try await withLogin(of: ["privacy"], in: queue) { (login) async throws in
        let actor = AuditActor(user: "root", host: "desk", reason: "request 7")
        let picture = try #require(try await JobDirectory(login).picture(of: job, by: actor))
        #expect(picture.image.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == "a photo")
        #expect(picture.image.encryption == nil)
        #expect(try await JobDirectory(login).picture(of: JobID(9_999_999)) == nil)
      }
      let entries = try await queue.texts(
        """
        SELECT concat_ws(' ', role <> 'postgres', object, detail -> 'jobs') FROM analysis.audit_entry
        WHERE action = 'read_image'
        """)
      #expect(entries == ["t job:\(job) [\(job)]"])
    }
  }

  @Test("is refused to who may see the job, and nothing is recorded", arguments: ["operator", "clinician"])
  func refused(role: String) async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = JobID(try #require(try await queue.submit([Ask("ann", image: "a photo")])[0].job))
      try await withLogin(of: [role], in: queue) { (login) async throws in
        let error = await #expect(throws: JobQueueError.self) {
          try await JobDirectory(login).picture(of: job)
        }
        #expect(error?.lacksRole == true)
      }
      #expect(
        try await queue.texts("SELECT object FROM analysis.audit_entry WHERE action = 'read_image'") == [])
    }
  }

  @Test("of another clinic's user there is none")
  func clinics() async throws {
    try await withQueue { queue in
      try await queue.addUser("ann")
      let job = JobID(try #require(try await queue.submit([Ask("ann", image: "a photo")])[0].job))
      try await queue.execute("INSERT INTO analysis.clinic (name) VALUES ('north')")
      try await withLogin(of: ["privacy"], in: queue) { (login) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('analysis_privacy', '{north}')")
        #expect(try await JobDirectory(login).picture(of: job) == nil)
      }
    }
  }
}

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

  @Test(
    "is shown to a reviewer as long as the analysis may be reviewed, and else is as one that is not there")
  func reviewed() async throws {
    try await withQueue { queue in
      for user in ["ann", "sue"] { try await queue.addUser(user) }
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south'),
          analysis.assign_clinic(0::smallint, 'ann', 'north'), analysis.assign_clinic(0::smallint, 'sue', 'south')
        """)
      let jobs = try await queue.create([Ask("ann", image: "ann"), Ask("sue", image: "sue")]).map {
        JobID($0)
      }
      try await withLogin("eve", of: ["reviewer"], in: queue) { (login) async throws in
        let directory = JobDirectory(login)
        func shown() async throws -> [Bool] {
          [try await directory.picture(of: jobs[0]) != nil, try await directory.picture(of: jobs[1]) != nil]
        }
        #expect(try await shown() == [false, false], "they are not analysed yet")
        _ = try await queue.complete(try await queue.claim(2))
        #expect(try await shown() == [true, true])
        try await queue.execute(
          """
          SELECT analysis.set_product('plain', '{reviews}'),
            analysis.set_clinic('south', NULL, NULL, 'plain', NULL, NULL)
          """)
        #expect(try await shown() == [true, false], "its product has no reviews")
        // One that was opened before is closed too.
        let reading = try await login.query(
          "SELECT analysis.open_picture(0::smallint, $1)", [.int64(jobs[0].value)]
        ).single().string(0)
        func read() async throws -> Int {
          try await login.query(
            "SELECT FROM analysis.picture_of(0::smallint, $1, $2)", [.int64(jobs[0].value), .text(reading)]
          ).count
        }
        #expect(try await read() == 1)
        let name = try await login.query("SELECT session_user::text").single().string(0)
        try await queue.execute("SELECT analysis.grant_clinics('\(name)', '{south}')")
        #expect(try await read() == 0)
        #expect(try await shown() == [false, false], "it is of another clinic")
        try await queue.execute(
          "SELECT analysis.lift_clinics('\(name)'), analysis.set_product('plain', '{}')")
        #expect(try await shown() == [true, true])
        try await queue.erase("ann")
        #expect(try await shown() == [false, true], "its person is erased")
      }
      // Each time that it was shown is an entry, and no other.
      let entries = try await queue.numbers(
        "SELECT count(*)::int FROM analysis.audit_entry WHERE action = 'read_image'")
      #expect(entries == [7])
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

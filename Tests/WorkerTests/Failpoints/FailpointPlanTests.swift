#if DEBUG
  @testable import Support
  import Testing
  @testable import Worker

  @Suite("The plan of the failpoints")
  struct FailpointPlanTests {
    typealias Rule = FailpointPlan.Rule

    @Test(
      "is read rule by rule: place, job, action, occasion",
      arguments: [
        ("after-claim=kill", [Rule(.afterClaim, .kill)]),
        ("after-claim=kill@3", [Rule(.afterClaim, .kill, occasion: 3)]),
        ("before-store=stop, during-upload=crash", [Rule(.beforeStore, .stop), Rule(.duringUpload, .crash)]),
        ("before-upload(job=12)=kill", [Rule(.beforeUpload, job: JobID(12), .kill)]),
        (
          "store-answered(job=9)=error@2",
          [Rule(.storeAnswered, job: JobID(9), .error, occasion: 2)]
        ),
        ("after-answer=delay:250", [Rule(.afterAnswer, .delay(milliseconds: 250))]),
        (
          "before-claim=delay:5,before-claim=kill@2",
          [Rule(.beforeClaim, .delay(milliseconds: 5)), Rule(.beforeClaim, .kill, occasion: 2)]
        ),
      ])
    func reads(text: String, rules: [Rule]) throws {
      #expect(try FailpointPlan(text).rules == rules)
    }

    @Test(
      "refuses what it does not understand, and says what",
      arguments: [
        ("after-claim", "name=action"),
        ("", "name=action"),
        ("after-claim=kill,", "name=action"),
        ("after-lunch=kill", "no failpoint 'after-lunch'"),
        ("after-lunch=kill", "before-release"),
        ("after-claim=explode", "no action 'explode'"),
        ("after-claim=explode", "delay:MS"),
        ("after-claim=delay", "no action 'delay'"),
        ("after-claim=delay:soon", "no action 'delay:soon'"),
        ("after-claim=delay:-1", "no action 'delay:-1'"),
        ("after-claim=kill@0", "from 1"),
        ("after-claim=kill@x", "from 1"),
        ("after-claim(user=1)=kill", "(job=ID)"),
        ("after-claim(job=x)=kill", "(job=ID)"),
        ("after-claim(job=1=kill", "(job=ID)"),
        ("before-heartbeat(job=1)=kill", "about no job"),
        ("after-answer=error", "'after-answer=error'"),
        ("during-upload=delay:5", "'during-upload=delay:5'"),
      ])
    func refuses(text: String, words: String) {
      let error = #expect(throws: FailpointTextError.self) { try FailpointPlan(text) }
      #expect(error?.description.contains(words) == true, "\(error?.description ?? "none")")
    }

    @Test("acts every time, or at the occasion alone")
    func occasions() throws {
      var plan = try FailpointPlan("before-store=delay:1,before-store=kill@2")
      #expect(plan.reached(.beforeStore) == [.delay(milliseconds: 1)])
      #expect(plan.reached(.beforeStore) == [.delay(milliseconds: 1), .kill])
      #expect(plan.reached(.beforeStore) == [.delay(milliseconds: 1)])
      #expect(plan.reached(.afterStore) == [])
    }

    @Test("confined to a job counts only the occasions on which it is about that job")
    func jobs() throws {
      var plan = try FailpointPlan("before-upload(job=7)=kill@2")
      #expect(plan.reached(.beforeUpload, jobs: [JobID(6)]) == [])
      #expect(plan.reached(.beforeUpload, jobs: [JobID(6), JobID(7)]) == [])
      #expect(plan.reached(.beforeUpload, jobs: [JobID(8)]) == [])
      #expect(plan.reached(.beforeUpload, jobs: [JobID(7)]) == [.kill])
      #expect(plan.reached(.beforeUpload, jobs: [JobID(7)]) == [])
    }

    @Test("lets every failpoint kill, stop and crash", arguments: Failpoint.allCases)
    func everywhere(failpoint: Failpoint) throws {
      for action in ["kill", "stop", "crash"] {
        #expect(try FailpointPlan("\(failpoint.rawValue)=\(action)").rules.count == 1)
      }
    }
  }
#endif

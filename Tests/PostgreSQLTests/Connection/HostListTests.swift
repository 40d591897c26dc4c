import Testing

@testable import PostgreSQL

@Suite("A list of servers")
struct HostListTests {
  private typealias Host = HostList.Host

  @Test("is taken apart as libpq does, one port for all or one for each")
  func parts() {
    #expect(
      HostList.hosts("a,/run,", "", "7") == [
        Host(name: "a", address: "", port: "7"), Host(name: "/run", address: "", port: "7"),
        Host(name: "", address: "", port: "7"),
      ])
    #expect(
      HostList.hosts("a,b", ",::1", "1,2") == [
        Host(name: "a", address: "", port: "1"), Host(name: "b", address: "::1", port: "2"),
      ])
    #expect(HostList.hosts("", "192.0.2.1", "") == [Host(name: "", address: "192.0.2.1", port: "")])
  }

  @Test(
    "is this machine's for sockets and the loopback alone",
    arguments: [
      ("", "", true), ("/run/postgresql", "", true), ("@abstract", "", true), ("localhost", "", true),
      ("127.0.0.1", "", true), ("127.8.9.1", "", true), ("::1", "", true),
      ("db.example.org", "127.0.0.1", true),
      ("db.example.org", "", false), ("localhost", "192.0.2.1", false), ("127.0.0.1.example.org", "", false),
      ("10.0.0.1", "", false), ("localhost.example.org", "", false), ("", "192.0.2.1", false),
    ])
  func local(name: String, address: String, isLocal: Bool) {
    #expect(Host(name: name, address: address, port: "").isLocal == isLocal)
  }

  @Test("asks a server on another machine for a full proof unless it does already, and never for less")
  func proof() throws {
    func list(_ names: String, _ mode: String?) -> HostList {
      HostList(
        HostList.hosts(names, "", ""), others: [("user", "u")] + (mode.map { [("sslmode", $0)] } ?? []))
    }
    for mode in [nil, "prefer"] as [String?] {
      let stricter = try #require(try list("/run,db.example.org", mode).verified())
      #expect(stricter.parameters.filter { $0.keyword == "sslmode" }.map(\.value) == ["verify-full"])
      #expect(stricter.parameters.contains { $0.keyword == "user" && $0.value == "u" })
    }
    #expect(try list("db.example.org", "verify-full").verified() == nil)
    #expect(try list("/run,localhost", "disable").verified() == nil)
    for mode in ["disable", "allow", "require", "verify-ca"] {
      let failure = #expect(throws: PostgreSQLError.self) { try list("/run,db.example.org", mode).verified() }
      #expect(failure?.phase == .configuration)
      #expect(failure?.message.contains("db.example.org") == true)
      #expect(failure?.message.contains(mode) == true)
    }
  }

  @Test("without one that says nothing keeps the others, and all else of the connection string")
  func without() throws {
    let list = HostList(
      HostList.hosts("a,b,a", "", "1,1,2"), connectTimeout: 3, others: [("user", "u")])
    let left = try #require(list.without(place("a", "192.0.2.1", "1")) { _ in ["192.0.2.1"] })
    #expect(left.hosts == HostList.hosts("b,a", "", "1,2"))
    #expect(left.connectTimeout == 3)
    #expect(left.parameters.map(\.keyword) == ["user", "host", "hostaddr", "port"])
    #expect(left.parameters.map(\.value) == ["u", "b,a", ",", "1,2"])
  }

  @Test("keeps the other addresses of a name of which one says nothing")
  func addresses() throws {
    let list = HostList(HostList.hosts("db", "", ""))
    let left = try #require(
      list.without(place("db", "192.0.2.1", "5432")) { _ in ["192.0.2.1", "2001:db8::1", "192.0.2.2"] })
    #expect(left.hosts == HostList.hosts("db,db", "2001:db8::1,192.0.2.2", ","))
    let last = try #require(left.without(place("db", "192.0.2.2", "5432")))
    #expect(last.hosts.map(\.address) == ["2001:db8::1"])
    #expect(last.without(place("db", "2001:db8::1", "5432")) == nil)
  }

  @Test("has nothing else when the only one says nothing, or when the place is not in it")
  func nothing() {
    let socket = HostList(HostList.hosts("/run/postgresql", "", "5432"))
    #expect(socket.without(place("/run/postgresql", "", "5432")) { _ in ["192.0.2.1"] } == nil)
    #expect(socket.without(place("/elsewhere", "", "5432")) == nil)
    #expect(HostList(HostList.hosts("db", "", "")).without(place("db", "", "5432")) { _ in [] } == nil)
  }

  private func place(_ name: String, _ address: String, _ port: String) -> Host {
    Host(name: name, address: address, port: port)
  }
}

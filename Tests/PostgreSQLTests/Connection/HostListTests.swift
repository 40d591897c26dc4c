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

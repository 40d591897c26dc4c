import Testing

@testable import HTTPTransfer

@Suite("An address of the network")
struct AddressRuleTests {
  @Test(
    "that is not public is refused",
    arguments: [
      // Unspecified, this machine, private, shared, link-local with the clouds' metadata.
      "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "10.255.255.255", "172.16.0.1",
      "172.31.255.255", "192.168.0.1", "192.168.255.255", "100.64.0.1", "100.127.255.255", "100.100.100.200",
      "169.254.0.1", "169.254.169.254", "169.254.170.2", "168.63.129.16",
      // Protocols, documentation, benchmarks, relays, multicast, reserved, broadcast.
      "192.0.0.1", "192.0.0.192", "192.0.2.1", "198.51.100.7", "203.0.113.255", "198.18.0.1",
      "198.19.255.255",
      "192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
      // The same of IPv6.
      "::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "fdff::1", "ff02::1",
      "ff0e::1",
      "100::1", "2001:db8::1", "3fff::1", "2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "5f00::1",
      "64:ff9b:1::a00:1", "4000::1", "8000::1",
      // Forms of IPv6 for addresses of IPv4.
      "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "::127.0.0.1",
      "::8.8.8.8", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1",
      "2002:c0a8:101::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2606:4700::5efe:10.0.0.1",
      "2606:4700::200:5efe:127.0.0.1",
    ])
  func refused(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(AddressRules.refusal(of: address) != nil)
  }

  @Test(
    "that is public is allowed, up to the edges of the blocks that are not",
    arguments: [
      "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
      "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
      "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
      "203.0.112.255", "203.0.114.0", "223.255.255.255", "168.63.129.15", "168.63.129.17",
      "2606:4700:4700::1111", "2001:4860:4860::8888", "2001:200::1", "2a00:1450::1", "2001:db9::1", "3ffe::1",
      "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2606:4700::5efe:8.8.8.8",
    ])
  func allowed(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(AddressRules.refusal(of: address) == nil)
  }

  @Test("is written as it is read", arguments: ["127.0.0.1", "2001:db8::1", "::ffff:1.2.3.4", "::"])
  func text(text: String) {
    #expect(IPAddress(text)?.description == text)
    #expect(IPAddress("[\(text)]")?.description == text)
  }

  @Test(
    "is read in its usual spelling alone",
    arguments: [
      "", "127.1", "0x7f.0.0.1", "0177.0.0.1", "1.2.3.4.", "1.2.3.256", "::1%lo", "[::1", "a.b.c.d",
    ])
  func unusual(text: String) {
    #expect(IPAddress(text) == nil)
  }
}

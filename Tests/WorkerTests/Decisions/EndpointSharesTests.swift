import Testing

@testable import Worker

@Suite("The share of an endpoint")
struct EndpointSharesTests {
  @Test("is everything for one, and half of an equal part at least for each of several")
  func floors() {
    #expect(EndpointShares(total: 64, endpoints: 1).floor == 64)
    #expect(EndpointShares(total: 64, endpoints: 2).floor == 16)
    #expect(EndpointShares(total: 3, endpoints: 2).floor == 1)
    #expect(EndpointShares(total: 1, endpoints: 2).floor == 0)
    #expect(EndpointShares(total: 0, endpoints: 2).floor == 0)
  }

  @Test("leaves to the others what is theirs, and takes what they cannot claim")
  func allowances() {
    let shares = EndpointShares(total: 64, endpoints: 2)
    #expect(shares.allowance(of: 0, used: { [0, 0][$0] }) == 48)
    #expect(shares.allowance(of: 0, used: { [48, 0][$0] }) == 0)
    #expect(shares.allowance(of: 1, used: { [48, 0][$0] }) == 16)
    #expect(shares.allowance(of: 1, used: { [30, 10][$0] }) == 24)
    #expect(shares.allowance(of: 0, used: { [30, 34][$0] }) == 0)
  }

  @Test("is never withheld, whoever asks for how much and in whatever order")
  func histories() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let endpoints = Int.random(in: 1...5, using: &random)
      let shares = EndpointShares(total: Int.random(in: 0...200, using: &random), endpoints: endpoints)
      var used = Array(repeating: 0, count: endpoints)
      for _ in 0..<60 {
        let index = Int.random(in: 0..<endpoints, using: &random)
        if Bool.random(using: &random) {
          let allowance = shares.allowance(of: index, used: { used[$0] })
          used[index] += min(Int.random(in: 1...50, using: &random), allowance)
        } else {
          used[index] -= Int.random(in: 0...used[index], using: &random)
        }
        #expect(used.reduce(0, +) <= shares.total, "\(shares) \(used)")
        for other in 0..<endpoints where used[other] < shares.floor {
          let allowance = shares.allowance(of: other, used: { used[$0] })
          #expect(allowance >= shares.floor - used[other], "\(shares) \(used)")
        }
      }
    }
  }
}

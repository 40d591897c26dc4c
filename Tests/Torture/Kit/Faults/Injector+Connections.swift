import TestSupport

extension Injector {
  func cause(_ fault: ConnectionFault, _ event: FaultEvent) async throws {
    switch fault {
    case .cut: rig.proxy.cutAll()
    case .frozen:
      rig.proxy.freeze()
      await sleep(event.lasting(.milliseconds(300), .seconds(3)))
      rig.proxy.thaw()
    case .refused:
      rig.proxy.refuse()
      rig.proxy.cutAll()
      await sleep(event.lasting(.milliseconds(200), .milliseconds(1500)))
      try rig.proxy.admit()
    case .submitUnseen: try await cut(.beforeServer, at: "analysis.submit")
    case .storeUnseen: try await cut(.beforeServer, at: "analysis.complete(")
    case .commitUnseen: try await cut(.beforeServer, at: "COMMIT")
    case .submitUnheard: try await cut(.afterAnswer, at: "analysis.submit")
    case .claimUnheard: try await cut(.afterAnswer, at: "analysis.claim(")
    case .storeUnheard: try await cut(.afterAnswer, at: "analysis.complete(")
    case .failureUnheard: try await cut(.afterAnswer, at: "analysis.fail(")
    case .commitUnheard: try await cut(.afterAnswer, at: "COMMIT")
    }
  }

  /// Cuts connections at the next statements of a kind, and waits until it has struck.
  private func cut(_ cut: FaultProxy.Cut, at text: String) async throws {
    try await cutTurns.take {
      let before = rig.proxy.struck
      rig.proxy.cut(cut, at: text)
      let patience = ContinuousClock.now + .seconds(5)
      while rig.proxy.struck == before {
        guard ContinuousClock.now < patience else { throw Missed("no such statement came") }
        await sleep(.milliseconds(20))
      }
    }
  }
}

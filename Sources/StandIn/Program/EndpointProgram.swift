import CommandLineTool
import Support

/// `model-endpoint`: serves the API of an endpoint from memory until it gets SIGTERM or SIGINT.
public enum EndpointProgram {
  /// Runs it by the process's arguments, and ends the process.
  public static func main() async {
    await Tool(command, version: ProductVersion.current, failure: failure).main()
  }

  static let command = Command(
    "model-endpoint",
    abstract: "A stand-in endpoint for analysis-worker: answers uploads, and misbehaves when told to.",
    discussion: """
      Results are a stand-in computed from the picture's colours, not a medical model. Accounts live in memory. \
      The first line on standard output is "listening on HOST:PORT". Where --host lets other machines in, an account and \
      --require-auth have to be given, and no other account can be made. Which failure strikes an upload depends on \
      the seed, its Idempotency-Key (or its image, without one) and the number of the try, so runs repeat.
      """,
    examples: [
      Example("model-endpoint --port 8080 --delay 50ms", "Answer each upload after 50 ms."),
      Example(
        "model-endpoint --require-auth --account worker@example.org:password.txt",
        "Know one account, whose password is in a file."),
      Example("model-endpoint --seed 7 --fail 503=0.05 --fail reset=0.02", "Let 7 % of the uploads fail."),
      Example("model-endpoint --fail 500=1@2", "Let the first two tries of every job fail."),
    ],
    inputs: EndpointProgramOptions.all,
    exitCodes: [.done, .usage, .unreadableInput, .unreachable],
    run: serve)

  @Sendable
  private static func serve(_ context: Context) async throws -> ExitCode {
    let configuration = try EndpointProgramOptions.configuration(context)
    MemoryTuning.raiseMallocThresholds()
    DescriptorLimit.raise()
    Signals.ignoreBrokenPipe()
    // Before the first connection, so that a signal is never missed.
    let signals = try Signals.stream(of: [.terminate, .interrupt])
    if !configuration.isLoopback {
      let means =
        configuration.transportSecurity == nil ? ", and without TLS they can be read on the way" : ""
      context.console.say(
        "warning: \(configuration.host) lets other machines in. This is a stand-in for development: send it no pictures "
          + "of patients\(means).")
    }
    let server = try EndpointServer(configuration)
    try context.console.print("listening on \(configuration.host):\(server.port)")
    for await _ in signals { break }
    server.stop()
    return .done
  }

  @Sendable
  private static func failure(_ error: any Error) -> CommandFailure? {
    switch error {
    case let error as EndpointError where error.code == .configuration:
      CommandFailure(.usage, error.description)
    case let error as EndpointError where error.code == .unreadable:
      CommandFailure(.unreadableInput, error.description)
    case let error as EndpointError:
      CommandFailure(.unreachable, error.description)
    case let error as SystemError:
      CommandFailure(.unreadableInput, error.description)
    default:
      nil
    }
  }
}

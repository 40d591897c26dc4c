import Foundation

/// What `docker-compose.yml` says, as Python's reader of YAML understands it.
public struct ComposeFile: Sendable, Decodable {
  /// One of its services.
  public struct Service: Sendable, Decodable {
    /// A file of a secret as the service sees it.
    public struct Secret: Sendable, Decodable {
      /// What the file calls it.
      public let source: String
      /// What the service calls it.
      public let target: String

      /// Reads the short form, a name, or the long one.
      public init(from decoder: any Decoder) throws {
        if let name = try? decoder.singleValueContainer().decode(String.self) {
          (source, target) = (name, name)
        } else {
          let members = try decoder.container(keyedBy: Key.self)
          source = try members.decode(String.self, forKey: .source)
          target = try members.decode(String.self, forKey: .target)
        }
      }

      private enum Key: CodingKey { case source, target }
    }

    /// How the service is found to be well.
    public struct HealthCheck: Sendable, Decodable {
      /// `CMD` and a command, or `CMD-SHELL` and a line.
      public let test: [String]
    }

    /// The image that it runs.
    public let image: String
    /// What runs; the entry point has it as arguments.
    public let command: [String]?
    /// Its variables.
    public let environment: [String: String]?
    /// The secrets that it reads.
    public let secrets: [Secret]?
    /// What is mounted into it.
    public let volumes: [String]?
    /// Whether it is started again when it ends.
    public let restart: String
    /// How it is found to be well.
    public let healthcheck: HealthCheck?
  }

  /// A secret's file on the machine.
  public struct SecretFile: Sendable, Decodable {
    /// Its path.
    public let file: String
  }

  /// The services, by name.
  public let services: [String: Service]
  /// The secrets, by name.
  public let secrets: [String: SecretFile]

  private static let python = HelperProgram.find("/usr/bin/python3")
  private static let reading =
    "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1])), default=str))"

  /// Whether there is a Python that reads YAML, as there is where docker-compose is installed.
  public static func canBeRead() async throws -> Bool {
    guard let python else { return false }
    return try await HelperProgram.run(python, ["-c", "import yaml"]).status == 0
  }

  /// Reads the project's own.
  public static func read() async throws -> ComposeFile {
    guard let python else { throw TestSupportError("there is no Python") }
    let json = try await HelperProgram.output(python, ["-c", reading, packagePath("docker-compose.yml")])
    return try JSONDecoder().decode(ComposeFile.self, from: Data(json))
  }

  /// The services that run programs of this project.
  public var own: [String: Service] { services.filter { $0.value.image.hasPrefix("analysis-queue") } }
}

extension ComposeFile.Service {
  /// The command line of the program: what the entry point puts before it, then the command.
  public var words: [String] {
    (environment?["PROGRAM"]?.split(separator: " ").map(String.init) ?? []) + (command ?? [])
  }
}

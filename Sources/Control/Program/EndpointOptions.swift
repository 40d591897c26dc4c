import CommandLineTool
import Endpoint
import HTTPTransfer

/// The options that say which endpoint is called, how and by which account.
enum EndpointOptions {
  static let workerConfiguration = Option<String?>(
    "worker-config", .path,
    help: "A worker's configuration file: database, endpoints and the rest are taken from it.")
  static let endpoint = Option<String?>(
    "endpoint", .string, valueName: "url", help: "Base address of the endpoint.")
  static let credentials = Option<String?>(
    "credentials", .path, help: "File (mode 0600) with the service account's email and password.")
  static let dialect = Option<EndpointSettings.Dialect?>(
    "dialect", .choice(EndpointSettings.Dialect.self),
    help: "Which of the endpoint's two spellings to speak.")
  static let authorities = Option<String?>(
    "ca-file", .path, help: "Certificate authorities to trust for the endpoint, instead of the system's.")
  static let certificate = Option<String?>(
    "endpoint-certificate", .path,
    help:
      "File (mode 0600) with the certificate and key (PEM) by which the worker shows itself to the endpoint.")
  static let newestVersion = Option<HTTPVersion?>(
    "endpoint-http", .choice(HTTPVersion.self),
    help: "The newest version of HTTP that is offered to the endpoint.")
  static let plainHTTP = Flag(
    "allow-plain-http", help: "Allow an endpoint without TLS that is not this machine.")

  static let all: [any Input] = [
    workerConfiguration, endpoint, credentials, dialect, authorities, certificate, newestVersion,
    plainHTTP,
  ]

  /// What a command line names.
  static func named(_ context: ControlContext) throws(UsageError) -> EndpointSettings.Named {
    var named = EndpointSettings.Named()
    named.endpoint = try context[endpoint]
    named.credentials = try context[credentials]
    named.dialect = try context[dialect]
    named.authorities = try context[authorities]
    named.certificate = try context[certificate]
    named.newestVersion = try context[newestVersion]
    named.plainHTTP = try context[plainHTTP]
    return named
  }
}

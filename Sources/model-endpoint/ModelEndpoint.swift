import StandIn
import Support

/// `model-endpoint`: everything it does is in `StandIn`.
@main
struct ModelEndpoint {
  static func main() async {
    StandardDescriptors.open()
    await EndpointProgram.main()
  }
}

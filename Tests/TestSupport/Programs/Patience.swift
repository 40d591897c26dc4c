/// How long a test waits for what has to come about.
///
/// It guards against hanging and measures nothing: far more than the busiest machine takes. A test that lets a time pass
/// on purpose names that time itself.
public let patience: Duration = .seconds(300)

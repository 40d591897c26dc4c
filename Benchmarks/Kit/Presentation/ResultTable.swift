import CommandLineTool

/// A row's result as a table for people.
public enum ResultTable {
  /// The row's name and sentence, a line for each contender, and what failed.
  ///
  /// The figure is the median, with the least and the greatest in brackets; everything else is the median.
  public static func text(_ result: RowResult) -> String {
    var text = "\(result.name): \(result.sentence)\n"
    if let failure = result.failure { return text + "  not measured: \(failure)\n" }
    let measured = result.contenders.filter { !$0.samples.isEmpty }
    let names = Set(measured.flatMap(\.samples).flatMap(\.further.keys)).subtracting(shown(result)).sorted()
    var table = Table(
      [Table.Column("")] + (titles(result) + names.map(title)).map { Table.Column($0, alignment: .right) })
    for contender in measured {
      let further = names.map { name in
        Cell(contender.summary { $0.further[name] }.map { figure(name, $0.median) } ?? "")
      }
      table.add([Cell(label(contender))] + figures(contender, result) + further)
    }
    text += table.render().split(separator: "\n").map { "  \($0)\n" }.joined()
    for contender in result.contenders {
      if let failure = contender.failure { text += "  \(label(contender)) failed: \(failure)\n" }
    }
    return text
  }

  private static func label(_ contender: ContenderResult) -> String {
    let version = contender.samples.last?.version.map { " \($0)" } ?? ""
    return (contender.part == .ours ? "" : "\(contender.part.rawValue): ") + contender.name + version
  }

  private static func titles(_ result: RowResult) -> [String] {
    [result.headline.unit, "(least to most)", "ratio", "worker ms/1000", "server ms/1000", "MB"]
  }

  private static func figures(_ contender: ContenderResult, _ result: RowResult) -> [Cell] {
    let headline = contender.summary(result.headline.value(of:))
    let texts: [String?] = [
      median(headline), headline.map(range),
      result.ratio(of: contender).map { FigureText.fixed($0, places: 2) },
      median(contender.summary(\.workerMilliseconds)), median(contender.summary(\.serverMilliseconds)),
      contender.summary { $0.peakMemory.map(Double.init) }.map { FigureText.megabytes($0.median) },
    ]
    return texts.map { Cell($0 ?? "") }
  }

  private static func median(_ summary: Summary?) -> String? {
    summary.map { FigureText.number($0.median) }
  }

  private static func range(_ summary: Summary) -> String {
    "(" + FigureText.number(summary.minimum) + " to " + FigureText.number(summary.maximum) + ")"
  }

  /// The further figure that is the headline has a column of its own already.
  private static func shown(_ result: RowResult) -> Set<String> {
    if case .figure(let name, _) = result.headline { [name] } else { [] }
  }

  private static func title(_ name: String) -> String {
    (name.hasSuffix("_bytes") ? name.dropLast(6) + "_mb" : name[...]).split(separator: "_")
      .joined(separator: " ")
  }

  private static func figure(_ name: String, _ value: Double) -> String {
    name.hasSuffix("_bytes") ? FigureText.megabytes(value) : FigureText.number(value)
  }
}

import Support

/// The charts on paper. Each part has a pattern, and what finds room is written on it: they are read without colours.
extension StatementPrint {
  /// Lays out the charts of what is known.
  func layOutCharts(
    _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    let charts = StatementCharts(statement)
    guard charts.days != nil || charts.conditions != nil || charts.usage != nil else { return }
    pages.skip(14)
    pages.text(StatementCharts.title, .heading, space: 4, keepingNext: 150, on: canvas)
    if let days = charts.days { layOut(days, &pages, on: canvas) }
    for chart in [charts.conditions, charts.usage].compactMap(\.self) {
      layOut(chart, &pages, on: canvas)
    }
  }

  private func layOut(
    _ chart: ColumnChart, _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    let (height, left) = (100.0, 34.0)
    let note = canvas.lineHeight(.note)
    pages.text(chart.title, .strong, space: 2, keepingNext: height + 3 * note, on: canvas)
    pages.text(chart.summary, .note, space: 4, keepingNext: height + 2 * note, on: canvas)
    pages.drawing(height + 2 * note, space: 12, on: canvas) { top in
      let (x, width) = (Paper.left + left, Paper.textWidth - left)
      let floor = top + note + height
      for (part, value) in [(1.0, chart.top), (0.5, chart.top / 2)] {
        let y = floor - height * part
        canvas.rule(x: x, y: y, width: width, thickness: 0.25)
        canvas.draw(
          Chart.shown(value), .note, x: Paper.left, y: y - note / 2, width: left - 6, .right, isQuiet: true)
      }
      let pitch = width / Double(max(1, chart.bars.count))
      for (index, bar) in chart.bars.enumerated() {
        let place = x + Double(index) * pitch
        let high = Double(bar.value) / chart.top * height
        if bar.value > 0 {
          canvas.box(.solid, x: place + 1, y: floor - high, width: max(0.5, pitch - 2), height: high)
          canvas.number(String(bar.value), x: place - 1, y: floor - high - note, width: pitch + 2)
        }
        canvas.draw(bar.label, .note, x: place - 4, y: floor + 1, width: pitch + 8, .centre)
      }
      canvas.rule(x: x, y: floor, width: width, thickness: 0.5)
    }
  }

  private func layOut(
    _ chart: BarChart, _ pages: inout PrintedPages, on canvas: borrowing PDFCanvas
  ) {
    let note = canvas.lineHeight(.note)
    let (name, most, high) = (130.0, 230.0, note + 5)
    pages.text(chart.title, .strong, space: 2, keepingNext: 4 * high, on: canvas)
    pages.drawing(note, space: 5, keepingNext: 2 * high, on: canvas) { y in
      var x = Paper.left + name + 8
      for part in chart.parts {
        canvas.box(part.fill, x: x, y: y, width: 18, height: note)
        canvas.draw(part.name, .note, x: x + 22, y: y, width: 110)
        x += 40 + Double(part.name.utf8.count) * PDFCanvas.Style.note.size * 0.6
      }
    }
    for bar in chart.bars {
      let height = bar.line.isEmpty ? high : high + note + 1
      pages.drawing(height, space: 4, on: canvas) { y in
        let start = Paper.left + name + 8
        canvas.draw(
          printable(bar.name, limit: 26), .note, x: Paper.left, y: y + 2, width: name, .right)
        let scale = most / Double(max(1, chart.most(bar)))
        var x = start
        for (part, value) in zip(chart.parts, bar.values) where value > 0 {
          let width = max(0.5, Double(value) * scale)
          canvas.box(part.fill, x: x, y: y, width: width, height: high)
          canvas.number(String(value), x: x, y: y + 2.5, width: width)
          x += width
        }
        canvas.draw(
          bar.note, .note, x: x + 6, y: y + 2, width: Paper.left + Paper.textWidth - x - 6, isQuiet: true)
        canvas.draw(
          bar.line, .note, x: start, y: y + high + 1, width: Paper.textWidth - name - 8, isQuiet: true)
      }
    }
    pages.skip(8)
  }
}

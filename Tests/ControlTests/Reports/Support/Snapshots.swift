@testable import Control

/// What the reports of the planted month look like, counted by hand from its table.
enum Snapshots {
  static func csv(_ kind: ReportKind) -> String {
    switch kind {
    case .usage:
      """
      user,month,line,plan,plan_name,limit,used,remaining,over,analysed,open,failed,cancelled,refunded,refused,\
      calls,last_reset,zone
      '=1+1,2020-10,month,free,Basic,2,1,1,0,1,0,0,0,0,0,1,2020-10-01T00:00:00+00:00,UTC
      ana,2020-10,month,free,Basic,2,4,0,2,3,1,1,1,2,3,6,2020-10-01T00:00:00+07:00,Asia/Jakarta
      bob,2020-10,month,premium,Premium,,3,,0,2,1,0,0,0,0,3,2020-10-01T00:00:00-04:00,America/New_York
      "zoë, ""Z""\",2020-10,month,free,Basic,2,0,2,0,0,0,0,0,0,0,0,2020-10-01T00:00:00+00:00,UTC
      """
    case .analyses:
      """
      job,user,kind,primary_id,primary_name,primary_confidence,primary_percentage,primary_band,primary_normal,\
      secondary_id,secondary_name,secondary_confidence,secondary_percentage,secondary_band,secondary_normal,\
      conditions,serious,consult,endpoint_serious,endpoint_consult,attempt,calls,analysis,endpoint,model,answered_at,finished_at
      101,ana,throat,tonsillitis,Tonsillitis,0.85,85%,red,false,pharyngitis,Pharyngitis,0.45,45%,yellow,false,\
      2,true,true,true,true,1,1,a-101,main,m1,2020-11-01T01:29:59+07:00,2020-11-01T01:30:00+07:00
      102,ana,throat,normal,Normal,0.95,95%,red,true,,,,,,,1,false,false,false,true,1,1,a-102,main,,,\
      2020-10-02T07:00:00+07:00
      103,ana,ear,otitis,Otitis media,0.7999,79%,orange,false,tonsillitis,Tonsillitis,0.3,30%,green,false,\
      2,false,,true,,3,2,a-103,main,m2,,2020-10-03T07:00:00+07:00
      201,bob,ear,,,,,,,,,,,,,0,,,,,1,1,a-201,main,,,2020-10-31T08:00:00-04:00
      202,bob,throat,tonsillitis,Tonsillitis acuta,0.6,60%,orange,false,pharyngitis,Pharyngitis,0.1,10%,green,\
      false,3,,,,,2,1,a-202,main,,2020-11-02T06:59:59-05:00,2020-11-02T07:00:00-05:00
      301,'=1+1,ear,otitis,"'=HYPERLINK(""http://x"",""y"")",0.8,80%,red,false,,,,,,,\
      1,,true,,true,1,1,a-301,main,,,2020-10-20T00:00:00+00:00
      """
    case .conditions:
      """
      month,condition,name,normal,green,yellow,orange,red,total
      2020-10,otitis,"'=HYPERLINK(""http://x"",""y"")",false,0,0,1,1,2
      2020-10,pharyngitis,Pharyngitis,false,1,1,0,0,2
      2020-10,tonsillitis,Tonsillitis,false,1,0,1,1,3
      2020-10,normal,Normal,true,1,0,0,1,2
      """
    case .summary:
      "measure,value\n" + totals.map { "\($0),\($1)\n" }.joined()
    case .agreement:
      """
      row,condition,name,normal,band,agree,disagree,unsure,persons,agreement,low,high
      condition,otitis,Otitis media,false,orange,0,0,1,1,,,
      condition,otitis,"'=HYPERLINK(""http://x"",""y"")",false,red,1,0,0,1,1.0,0.2065,1.0
      condition,tonsillitis,Tonsillitis acuta,false,orange,0,1,0,1,0.0,0.0,0.7935
      condition,tonsillitis,Tonsillitis,false,red,1,1,0,1,0.5,0.0945,0.9055
      condition,normal,Normal,true,red,1,0,0,1,1.0,0.2065,1.0
      none,,,,,1,0,0,1,1.0,0.2065,1.0
      all,,,,,4,2,1,3,0.6667,0.3,0.9032
      """
    // 202 at 0.6; 101 twice at 0.85 and 301 at 0.8, of which two agree: 0.1667 too sure; 102 at 0.95. The expected
    // calibration error is (1 x 0.6 + 3 x 0.16667 + 1 x 0.05) / 5.
    case .calibration:
      """
      from,to,confidence,agree,disagree,unsure,persons,agreement,low,high,error
      0.0,0.1,,0,0,0,0,,,,
      0.1,0.2,,0,0,0,0,,,,
      0.2,0.3,,0,0,0,0,,,,
      0.3,0.4,,0,0,0,0,,,,
      0.4,0.5,,0,0,0,0,,,,
      0.5,0.6,,0,0,0,0,,,,
      0.6,0.7,0.6,0,1,0,1,0.0,0.0,0.7935,0.6
      0.7,0.8,,0,0,1,1,,,,
      0.8,0.9,0.8333,2,1,0,2,0.6667,0.2077,0.9385,0.1667
      0.9,1.0,0.95,1,0,0,1,1.0,0.2065,1.0,0.05
      ,,0.81,3,2,1,3,0.6,0.2307,0.8824,0.23
      """
    }
  }

  /// The totals of the planted month.
  static let totals: KeyValuePairs = [
    "users": 4, "active_users": 3, "used": 8, "over": 2, "analysed": 6, "open": 2, "failed": 1,
    "cancelled": 1, "refunded": 2, "refused": 3, "calls": 10, "adjusted": 0, "throat": 3, "ear": 3,
    "serious": 1, "consult": 2, "without_condition": 1, "normal": 2, "green": 2, "yellow": 1, "orange": 2,
    "red": 2,
  ]
}

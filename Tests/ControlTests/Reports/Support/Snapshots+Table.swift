@testable import Control

extension Snapshots {
  static func table(_ kind: ReportKind) -> String {
    switch kind {
    case .usage:
      #"""
      USER   MONTH    PLAN         LIMIT  USED  REMAINING  OVER  ANALYSED  OPEN  FAILED  REFUNDED  \#
      REFUSED  CALLS  LAST RESET
      =1+1   2020-10  Basic            2     1          1     0         1     0       0         0  \#
            0      1  2020-10-01T00:00:00+00:00
      ana    2020-10  Basic            2     4          0     2         3     1       1         2  \#
            3      6  2020-10-01T00:00:00+07:00
      bob    2020-10  Premium  unlimited     3  unlimited     0         2     1       0         0  \#
            0      3  2020-10-01T00:00:00-04:00
      -----  -------  -------  ---------  ----  ---------  ----  --------  ----  ------  --------  \#
      -------  -----  -------------------------
      Total                                  8                2         6     2       1         2  \#
            3     10

      usage of 2020-10, draft, 3 rows, times in each user's zone, without users who used nothing

      """#
    case .analyses:
      #"""
      JOB  USER  TYPE    PRIMARY                       %  BAND    SECONDARY      %  BAND    SERIOUS  \#
      CONSULT  ENDPOINT SERIOUS  ENDPOINT CONSULT  FINISHED
      101  ana   throat  Tonsillitis                 85%  red     Pharyngitis  45%  yellow  yes      \#
      yes      yes               yes               2020-11-01T01:30:00+07:00
      102  ana   throat  Normal                      95%  normal                            no       \#
      no       no                yes               2020-10-02T07:00:00+07:00
      103  ana   ear     Otitis media                79%  orange  Tonsillitis  30%  green   no       \#
               yes                                 2020-10-03T07:00:00+07:00
      201  bob   ear                                                                                 \#
                                                   2020-10-31T08:00:00-04:00
      202  bob   throat  Tonsillitis acuta           60%  orange  Pharyngitis  10%  green            \#
                                                   2020-11-02T07:00:00-05:00
      301  =1+1  ear     =HYPERLINK("http://x","y")  80%  red                                        \#
      yes                        yes               2020-10-20T00:00:00+00:00

      analyses of 2020-10, draft, 6 rows, times in each user's zone

      """#
    case .conditions:
      #"""
      MONTH    CONDITION    NAME                        NORMAL  GREEN  YELLOW  ORANGE  RED  TOTAL
      2020-10  otitis       =HYPERLINK("http://x","y")  no          0       0       1    1      2
      2020-10  pharyngitis  Pharyngitis                 no          1       1       0    0      2
      2020-10  tonsillitis  Tonsillitis                 no          1       0       1    1      3
      2020-10  normal       Normal                      yes         1       0       0    1      2

      conditions of 2020-10, draft, 4 rows, times in each user's zone

      """#
    case .summary:
      #"""
      TOTAL                              VALUE
      Users                                  4
      Users with jobs                        3
      Units used                             8
      Units over the limit                   2
      Jobs analysed                          6
      Jobs open                              2
      Jobs dead                              1
      Jobs cancelled                         1
      Units refunded                         2
      Submits refused by quota               3
      Endpoint calls                        10
      Units adjusted in earlier months       0
      Analyses of throats                    3
      Analyses of ears                       3
      Analyses with a serious condition      1
      Analyses advising a consultation       2
      Analyses without a condition           1
      Conditions, normal                     2
      Conditions, green                      2
      Conditions, yellow                     1
      Conditions, orange                     2
      Conditions, red                        2

      summary of 2020-10, draft, 22 rows, times in each user's zone

      """#
    case .agreement:
      #"""
      CONDITION                   BAND    AGREE  DISAGREE  UNSURE  PERSONS  AGREEMENT  LOW  HIGH
      Otitis media                orange      0         0       1        1
      =HYPERLINK("http://x","y")  red         1         0       0        1       100%  21%  100%
      Tonsillitis acuta           orange      0         1       0        1         0%   0%   79%
      Tonsillitis                 red         1         1       0        1        50%   9%   91%
      Normal                      normal      1         0       0        1       100%  21%  100%
      Without a condition                     1         0       0        1       100%  21%  100%
      All                                     4         2       1        3        67%  30%   90%

      agreement of 2020-10, 7 rows

      """#
    case .calibration:
      #"""
      TENTH     MEAN  AGREE  DISAGREE  UNSURE  PERSONS  AGREEMENT  LOW  HIGH  ERROR
      0-10 %              0         0       0        0
      10-20 %             0         0       0        0
      20-30 %             0         0       0        0
      30-40 %             0         0       0        0
      40-50 %             0         0       0        0
      50-60 %             0         0       0        0
      60-70 %    60%      0         1       0        1         0%   0%   79%  60.0%
      70-80 %             0         0       1        1
      80-90 %    83%      2         1       0        2        67%  21%   94%  16.7%
      90-100 %   95%      1         0       0        1       100%  21%  100%   5.0%
      All        81%      3         2       1        3        60%  23%   88%  23.0%

      calibration of 2020-10, 11 rows

      """#
    }
  }
}

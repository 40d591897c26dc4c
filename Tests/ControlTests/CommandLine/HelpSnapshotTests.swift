import Testing

@testable import CommandLineTool
@testable import Control

@Suite("Help is what it was")
struct HelpSnapshotTests {
  @Test("of the program")
  func root() {
    #expect(
      ControlProgram.tool().text(of: .help(["analysisctl"])) == """
        analysisctl: Look after the analysis queue: submit images, watch jobs, print
        reports.

        Every command reaches the database as libpq does: by --database, by the PG*
        variables, a service file and a password file. An option comes before its
        environment variable, and that before the configuration file.

        Results go to standard output, messages to standard error. NO_COLOR turns
        colours off.

        Examples:
          analysisctl migrate
              Make the schema, or bring it up to date.
          analysisctl users add u1 --plan free --zone Asia/Jakarta
              Add a user.
          analysisctl submit --user u1 --type throat photos/
              Submit the images of a folder.
          analysisctl status
              See what waits and who works.
          analysisctl doctor
              See whether something is wrong.
          analysisctl report usage --month previous --out usage.csv
              Write last month's usage.

        Usage:
          analysisctl [options] <subcommand>

        Jobs:
          submit       Submit images to be analysed.
          batches      See how far what was submitted together is, wait for it, cancel
                       or retry it.
          jobs         List jobs, look at one, retry, cancel or uncancel some.
          reviews      Say whether an analysis is right, and see what others say.

        Queue:
          status       Show what waits in the queue and who works on it.
          watch        Show what happens in the queue, as it happens.
          pause        Have no more jobs started: all, those of a type, or those for an
                       endpoint.
          resume       End a pause.
          doctor       Look for what is wrong with the database, the workers and the
                       endpoint.
          serve        Serve the dashboard, the queue's metrics and its health by HTTP,
                       until it is stopped.

        People:
          users        Add users, look at them, set plan, zone, months and name, and let
                       their apps in.
          clinics      Add clinics, give users to them, and say which database role sees
                       which.
          share        Let a clinician or a carer read a user's analyses.
          account      Look after an account at the endpoint, and keep a user in step
                       with it.
          webhooks     Send a message to an address when an analysis of a clinic or user
                       has ended.
          erase        Remove everything that is kept of a person.

        Months and bills:
          plans        Show the plans, add one, and set monthly limits and prices.
          month        Show the months, and close them.
          report       Print a month's usage, analyses, conditions, totals or reviews.
          statement    Print what a clinic or a user is billed for a month.
          reconcile    Recount everybody's use from the jobs themselves.

        Installation:
          migrate      Make the database's schema, or bring it up to date.
          roles        Make the logins of an installation, and show what each login may
                       do.
          settings     Show the settings of the installation, and change them.
          products     Show the products that this program serves, and check their
                       files.
          keys         Make, list, change and remove the keys under which images are
                       encrypted.
          images       Move stored images to an object store, and back.
          audit        Show who did what, and verify that nothing of it was changed.
          purge        Remove what has been kept for as long as the settings say.

        Help:
          completions  Print a completion script for bash, zsh or fish.
          help         Show the help of a command, or with 'options' the options of
                       every command.

        Options:
          -h, --help     Show this help.
              --version  Show the version.

        Every command takes --database, --database-proof, --connect-timeout, --config,
        --audit-ends, --products, --as-product, --json and --log-level, too: see
        'analysisctl help options'.

        Exit codes:
          0   Everything asked for was done.
          1   A job failed, or a check found something wrong.
          3   Something was refused because a user's limit is reached; the rest was
              done.
          4   Something was refused for another reason; the rest was done.
          5   There was nothing to do.
          6   A month is over and not closed: its usage may still change.
          7   The search stopped before the page was full; go on where it says.
          8   It was done, but the end of the audit could not be kept (--audit-ends).
          9   Nothing was submitted: pictures are paid for this month already (--again).
          64  The command line or the configuration is wrong.
          66  An input file cannot be read.
          69  The database or the analysis endpoint cannot be reached.
          70  The program met a fault of its own.
          75  It cannot be done now; the same command may succeed later.
          77  Permission to do it is missing.

        """)
  }

  @Test("of submit, whose rules are its contract")
  func submit() {
    let text = ControlProgram.tool().text(of: .help(["analysisctl", "submit"]))
    #expect(
      text == """
        analysisctl submit: Submit images to be analysed.

        Examples:
          analysisctl submit --user u1 --type throat photo.jpg
              One image.
          analysisctl submit --user u1 --type ear photos/
              The images of a folder, by name.
          analysisctl submit --manifest batch.csv --json
              What a list names; a line of JSON for each.
          camera | analysisctl submit --user u1 --type throat --priority urgent -
              One from a pipe.
          analysisctl submit --user u1 --type throat --key ward-3 --wait photos/
              Safe to repeat; wait for the ends.
          analysisctl submit -u u1 -t ear --name 'ward 3' --reference visit-4711 photos/
              A batch with a name, its jobs to be found by the visit.
          analysisctl submit -u u1 -t ear --wait --results --out results.csv photos/
              What was found, on the terminal and in a file.
          analysisctl submit --user u1 --type ear --key-file image.keys photos/
              Encrypted before they are stored.
          analysisctl submit --user u1 --type ear --url https://img.example.org/7.jpg
              One by its address, where --url-hosts allows it.

        Usage:
          analysisctl submit [options] [<file>...]

        JPEG and PNG are accepted, whatever the files are called, and cleaned before
        they are stored: metadata is removed and the picture turned upright. A file that
        is refused does not stop the others.

        What one run submits is a batch: analysisctl batches shows how far it is, waits
        for it and cancels it. A line for the batch is printed, and one for each job
        that failed while --wait waited; --verbose prints one for each image, --json
        always.

        A picture that its user has submitted this month, or within a day, as the same
        type and under another key, is paid for; to submit it again costs another unit.
        So the pictures of users who have such jobs are looked at first. On a terminal
        the command asks; elsewhere nothing is submitted and the exit code is 9, unless
        --again or --only-new says what is meant. Jobs that died or were cancelled cost
        nothing and do not count. A picture that is here several times for one user and
        type is one job, unless --again is given; the summary says how many there were.

        A manifest is CSV (RFC 4180, with a header; its cells may be separated by
        semicolons) or JSON Lines, with these columns or members: file, url, user, type,
        priority, at, key, expires, reference. Only file, counted from the manifest's
        own folder, or url is needed; for what a row leaves out the options count. A row
        that cannot be used is refused with its line.

        Images by URL are off unless --url-hosts names the hosts that they may come
        from. They are fetched by https alone, from public addresses alone, without
        following redirects, and then judged and cleaned like files. One that is refused
        or cannot be fetched does not stop the others. Messages name its host and never
        the rest of the address; the host is also what is stored as its name.

        A user's images are taken in the order given, as many as the monthly limit
        allows; the rest are refused by name.

        With --key-file the images are encrypted here, under a key that the database
        never sees; the workers need the same file. An image that the user has stored
        this month already stays as it is.

        Every image is submitted under an idempotency key, so that nothing is submitted
        twice when a connection is lost. One image has the key --key itself; of several,
        each has one that follows from --key and the name as given, unless the manifest
        has one. A command repeated with the same --key and the same names submits only
        what is missing. Without --key a run has a random one, so that a repeat is
        another run; --json tells each image's key, and a run that stops early tells the
        run's, with which it can be carried on. A key that was used before for another
        image or type is refused.

        A database that goes away while images are submitted is waited for, 30 s at
        most; one that goes away under --wait is waited for as long as the jobs are.

        Ctrl-C lets the call that is under way finish, submits no more, and says how
        many are in and how to wait for them.

        The exit code is the first of these that holds: 1 a job failed or was cancelled
        while --wait waited; 75 the command was interrupted, --timeout was over, or no
        image can be decoded here; 66 a file could not be read, though others may be
        submitted; 4 something was refused for another reason than the monthly limit; 3
        something was refused by the monthly limit.

        Arguments:
          <file>...  Images, folders of images (not what is in folders below), or - for
                     one image on standard input.

        Options:
          -u, --user <TEXT>               Whose images they are. A manifest's column
                                          comes before it.
          -t, --type <throat|ear>         What the images show. A manifest's column
                                          comes before it.
          -p, --priority <urgent|normal|bulk>
                                          How soon they are wanted. A manifest's column
                                          comes before it. (default: normal)
              --at <TIME>                 Run them from this time on, and count them in
                                          its month: 2026-12-01T08:00:00Z.
              --expires <TIME>            They are not wanted after this time; what has
                                          not run by then fails.
              --key <TEXT>                The run's idempotency key: what was submitted
                                          under it before is not submitted again.
              --name <TEXT>               What the batch is called; without it, it is
                                          known by its number and date.
              --reference <TEXT>          What you call the jobs, such as the number of
                                          a visit, to find them by. A manifest's column
                                          comes before it.
              --again                     Submit what is paid for this month already, or
                                          is here several times, and pay for each.
              --only-new                  Leave out what is paid for this month already.
              --verbose                   Print a line for each image, not for the batch
                                          alone.
              --manifest <FILE>           A list of images: CSV with a header (commas or
                                          semicolons) of file, url, user, type,
                                          priority, at, key, expires, reference, or JSON
                                          Lines; - for standard input.
              --url <URL>                 An image by its https address, after the
                                          files; its host must be one of --url-hosts. An
                                          address that is a secret is better given in a
                                          manifest: other users of this machine can read
                                          command lines. (may be repeated)
              --url-hosts <HOST>          A host from which images may be fetched by
                                          URL: images.example.org, or *.example.org for
                                          those below it. Without one nothing is
                                          fetched. (may be repeated; environment:
                                          ANALYSIS_URL_HOSTS; configuration: url-hosts)
              --url-cache <FOLDER>        Keep what was fetched in this folder,
                                          encrypted with the keys of --key-file, and use
                                          it for a day; the next fetch or analysisctl
                                          purge removes it then. The folder is made if
                                          need be. Without a key file nothing is kept
                                          there. (environment: ANALYSIS_URL_CACHE;
                                          configuration: url-cache)
              --url-cache-size <SIZE>     The most bytes in that folder. (default:
                                          256MB; configuration: url-cache-size)
              --wait                      Wait until the jobs have ended; exit 1 if one
                                          failed.
              --results                   With --wait: print what was found in each
                                          image.
              --out <FILE>                With --results: write what was found to this
                                          file too, as CSV.
              --timeout <DURATION>        Wait at most so long; then exit 75.
              --max-dimension <N>         Scale images down so that neither side has
                                          more pixels; the endpoint advises 224.
                                          (configuration: max-dimension)
              --min-side <N>              Scale images down so that the shorter side has
                                          no more pixels; the endpoint's models see 224.
                                          (configuration: min-side)
              --key-file <FILE>           File (mode 0600) with the keys of encrypted
                                          images; a bare name is a service credential.
                                          (environment: ANALYSIS_KEY_FILE;
                                          configuration: key-file)
              --image-store <FILE>        File (mode 0600) with the address and key of
                                          the object store in which images are; a bare
                                          name is a service credential. (environment:
                                          ANALYSIS_IMAGE_STORE; configuration:
                                          image-store)
          -h, --help                      Show this help.

        Every command takes --database, --database-proof, --connect-timeout, --config,
        --audit-ends, --products, --as-product, --json and --log-level, too: see
        'analysisctl help options'.

        Exit codes:
          0   Everything asked for was done.
          1   A job failed, or a check found something wrong.
          3   Something was refused because a user's limit is reached; the rest was
              done.
          4   Something was refused for another reason; the rest was done.
          5   There was nothing to do.
          8   It was done, but the end of the audit could not be kept (--audit-ends).
          9   Nothing was submitted: pictures are paid for this month already (--again).
          64  The command line or the configuration is wrong.
          66  An input file cannot be read.
          69  The database or the analysis endpoint cannot be reached.
          75  It cannot be done now; the same command may succeed later.
          77  Permission to do it is missing.

        """)
  }
}

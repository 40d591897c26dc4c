"""Looks at every page and action of the dashboard in Chromium. Called by scripts/check-dashboard: what to do (check, or
pictures), FOLDER, and the addresses of the dashboards of the database's owner, of an operator, of a clinician, of a
submitter, who has submitted all jobs, of a reviewer, of an accountant, of the owner of a database with nothing in it, and of one to which
`reader` logs in."""

import pathlib
import subprocess
import sys
import time

import axe_playwright_python
from axe_selenium_python import Axe
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from chromium import browser, picture, show

# Every page: its name, its path, its heading, and whether it is brought up to date while it is open.
PAGES = [
    ("overview", "/", "Overview", True),
    ("workers", "/workers", "Workers", True),
    ("usage", "/usage", "Usage", False),
    ("reviews", "/reviews", "Reviews", False),
    ("to-review", "/reviews/to-review", "To review", False),
    ("to-review-none", "/reviews/to-review?clinic=nowhere", "To review", False),
    ("to-review-misunderstood", "/reviews/to-review?type=nose", "Not understood", False),
    ("reviews-misunderstood", "/reviews?from=soon", "Not understood", False),
    ("audit", "/audit", "Audit", False),
    ("audit-found", "/audit?object=job:7", "Audit", False),
    ("audit-misunderstood", "/audit?since=tomorrow", "Not understood", False),
    ("audit-verification", "/audit/verification", "Verification of the audit", True),
    ("audit-verify", "/audit/verify", "Verify the audit?", False),
    ("jobs", "/jobs", "Jobs", True),
    ("jobs-dead", "/jobs?state=dead", "Jobs: state dead", True),
    ("jobs-found", "/jobs?user=north-1&findings=shown", "Jobs: user north-1", False),
    ("jobs-misunderstood", "/jobs?type=nose", "Not understood", False),
    ("job-waiting", "/jobs/20", "Job 20", True),
    ("job-dead", "/jobs/1", "Job 1", False),
    ("job-done", "/jobs/5", "Job 5", False),
    ("job-cancel", "/jobs/20/cancel", "Cancel job 20?", False),
    ("job-review", "/jobs/5/review", "Review of job 5", False),
    ("job-review-open", "/jobs/45/review?clinic=North", "Review of job 45", False),
    ("failures", "/failures", "Failures", True),
    ("failures-retry", "/matching/retry?like=1", "Retry 3 jobs?", False),
    ("batches", "/batches", "Batches", True),
    ("batch", "/batches/B1", "Batch B1", True),
    ("batch-cancel", "/matching/cancel?batch=B1", "Cancel 8 jobs?", False),
    ("pause", "/pause?type=throat", "Pause throat?", False),
]

# Every action: its name, the path of its form, what is typed into which fields, and what the page says afterwards.
ACTIONS = [
    ("verify", "/audit/verify", {}, "The verification has begun."),
    ("cancel", "/jobs/20/cancel", {"reason": "sent twice"}, "Job 20: cancelled."),
    ("uncancel", "/jobs/20/uncancel", {}, "Job 20: queued again"),
    ("cancel-batch", "/matching/cancel?batch=B1", {}, "8 jobs: cancelled."),
    ("uncancel-batch", "/matching/uncancel?batch=B1", {}, "8 jobs: queued again"),
    ("pause", "/pause?type=throat", {"reason": "the new model"}, "throat is paused."),
    ("resume", "/resume?type=throat", {}, "throat is resumed."),
    ("review", "/jobs/5/review", {"verdict": "agree", "comment": "Clear on both sides."}, "Job 5: agree"),
]

# Every action of a submitter's login; it leads back to the list of the batch.
OWN_ACTIONS = [
    ("cancel-own", "/jobs/20/cancel?batch=B1", {}, "Job 20: cancelled."),
    ("uncancel-own", "/jobs/20/uncancel?batch=B1", {}, "Job 20: queued again"),
]

# What a login of one role is refused: the pages, by their names, and what the refusal names.
AUDIT = ["audit", "audit-found", "audit-verification", "audit-verify"]
CHANGES = ["job-cancel", "failures-retry", "batch-cancel", "pause"]
REVIEWS = [
    "reviews", "reviews-misunderstood", "to-review", "to-review-none", "to-review-misunderstood", "job-review",
    "job-review-open"]
REFUSED = {
    "operator": {name: "analysis_auditor" for name in ["usage"] + AUDIT}
    | {name: "analysis_clinician" for name in REVIEWS},
    "clinician": {name: "analysis_auditor" for name in ["usage"] + AUDIT}
    | {name: "analysis_operator" for name in ["workers"] + CHANGES},
    "submitter": {name: "analysis_auditor" for name in ["usage"] + AUDIT}
    | {name: "analysis_clinician" for name in REVIEWS}
    | {
        name: "analysis_operator"
        for name in [
            "workers", "job-waiting", "job-dead", "job-done", "failures", "failures-retry", "pause"]
    }
    | {name: "by their batch or reference" for name in ["jobs-dead", "jobs-found"]},
}
REFUSED["reviewer"] = REFUSED["clinician"]
REFUSED["accountant"] = (
    {name: "analysis_auditor" for name in AUDIT}
    | {name: "analysis_clinician" for name in REVIEWS if not name.startswith("reviews")}
    | {
        name: "analysis_operator"
        for name in [
            "workers", "jobs", "jobs-dead", "jobs-found", "job-waiting", "job-dead", "job-done", "failures", "batches",
            "batch"] + CHANGES})

# The heading of the page at which the dashboard begins for a login that may not open the overview.
BEGINS = {"clinician": "Jobs", "reviewer": "Jobs", "submitter": "Jobs", "accountant": "Usage"}

# Links to what changes something and is refused to a login of one role.
NOT_OWN = ["*='/retry'", "^='/pause'", "^='/resume'"]
NO_REVIEW = ["$='/review'"]
OFFERS = {
    "operator": NO_REVIEW, "clinician": NOT_OWN + ["*='/cancel'", "*='/uncancel'"],
    "submitter": NOT_OWN + NO_REVIEW,
}
OFFERS["reviewer"] = OFFERS["clinician"]
OFFERS["accountant"] = OFFERS["clinician"] + NO_REVIEW

# The rules themselves, of the package that has the newer ones.
RULES = str(pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js"))

SIZES = [("320", 320, 640), ("768", 768, 1024), ("1024", 1024, 768), ("1440", 1440, 900)]
# The narrowest and the widest: what does not depend on how much room there is, is looked at in these.
ENDS = [SIZES[0], SIZES[-1]]
SCHEMES = ["light", "dark"]

faults = []


def fault(where, what):
    faults.append(f"{where}: {what}")


def check_rules(driver, where):
    axe = Axe(driver, RULES)
    axe.inject()
    for violation in axe.run()["violations"]:
        nodes = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
        fault(where, f"{violation['id']}: {violation['help']} ({nodes})")


def check_width(driver, where):
    wide = driver.execute_script(
        "return document.documentElement.scrollWidth > document.documentElement.clientWidth")
    if wide:
        fault(where, "it is wider than the window")


def check_words(driver, where):
    """No word is broken but behind what separates its parts, and no cell is narrower than what it holds."""
    broken = driver.execute_script("""
        const found = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const node = walker.currentNode, parent = node.parentElement;
          if (parent.closest("svg, script, noscript, textarea, option, .skip") || !parent.checkVisibility()) continue;
          const head = parent.closest("thead");
          if (head && getComputedStyle(head).position === "absolute") continue;  // read out, and not seen
          for (const word of node.data.matchAll(/[^\\s\\-\u2013\u2014\\/?]+/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
            if (lines.size > 1) found.push("broken: " + word[0].slice(0, 60));
          }
        }
        for (const time of document.querySelectorAll("main time")) {
          if (new Set([...time.getClientRects()].map((box) => Math.round(box.top))).size > 1) {
            found.push("in two lines: " + time.textContent);
          }
        }
        for (const cell of document.querySelectorAll("td, th, dd, dt, li, .figures div")) {
          const head = cell.closest("thead");
          if (!cell.checkVisibility() || head && getComputedStyle(head).position === "absolute") continue;
          if (cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).display !== "inline") {
            found.push("wider than its cell: " + cell.textContent.trim().slice(0, 60));
          }
        }
        return found.slice(0, 10);
        """)
    for one in broken:
        fault(where, one)


def check_cards(driver, where):
    """The row of a table is a few lines high, also where it is a card."""
    high = driver.execute_script(
        "return Math.max(0, ...[...document.querySelectorAll('main tbody tr')].map((row) => row.offsetHeight))")
    if high > 280:
        fault(where, f"a row is {high} pixels high")


def check_keyboard(driver, where):
    """The first key leads to the content, and each further one to what is seen next, with an outline."""
    body = driver.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    first = driver.switch_to.active_element
    if first.get_attribute("class") != "skip":
        fault(where, f"the first key leads to {first.get_attribute('outerHTML')[:80]}")
    # Of the buttons of one choice the key leads to the chosen one, or to the first.
    count = driver.execute_script(
        "const all = [...document.querySelectorAll('a, button, summary, input:not([type=hidden]), select, textarea, .scroll')];"
        "const names = new Set(all.filter((e) => e.type === 'radio').map((e) => e.name));"
        "return all.filter((e) => e.type !== 'radio').length + names.size")
    last = None
    seen = 1
    while seen < count + 20:
        ActionChains(driver).send_keys(Keys.TAB).perform()
        place = driver.execute_script(
            "const e = document.activeElement; if (e === document.body) return null;"
            "const box = e.getBoundingClientRect(), style = getComputedStyle(e);"
            "const all = [...document.querySelectorAll('*')];"
            "return [all.indexOf(e), style.outlineStyle !== 'none', e.outerHTML.slice(0, 80)]")
        if place is None:
            break
        seen += 1
        if last is not None and place[0] < last:
            break  # around to the beginning
        last = place[0]
        if not place[1]:
            fault(where, f"it is not seen that the focus is on {place[2]}")
    if seen < count:
        fault(where, f"{seen} of {count} places are reached by key")


def check_refusal(driver, where):
    """A refusal comes first, is read out, stands in red, and says in a second sentence what to do next."""
    refusal = driver.execute_script(
        "const shown = [...document.querySelector('main').children].filter((e) => e.offsetHeight > 0);"
        "const [title, notice] = shown, probe = document.createElement('i');"
        "probe.style.color = getComputedStyle(document.documentElement).getPropertyValue('--bad');"
        "document.body.append(probe);"
        "const red = getComputedStyle(probe).color; probe.remove();"
        "return [title.tagName, notice.getAttribute('role'), getComputedStyle(notice).color === red,"
        " notice.querySelectorAll('p').length]")
    if refusal != ["H1", "alert", True, 2]:
        fault(where, f"the refusal is not as it should be: {refusal}")


def check_log(driver, where, status):
    """The browser's log tells of no fault but a page that was answered with a status."""
    for entry in driver.get_log("browser"):
        if "Failed to load resource" not in entry["message"] or f"status of {status}" not in entry["message"]:
            fault(where, entry["message"])


def look(driver, address, folder):
    for name, path, heading, is_live in PAGES:
        for size in SIZES:
            for scheme in SCHEMES if size in ENDS else SCHEMES[:1]:
                where = f"{name}-{size[0]}-{scheme}"
                show(driver, *size[1:], scheme)
                driver.get(address + path)
                if driver.find_element(By.TAG_NAME, "h1").text != heading:
                    fault(where, f"its heading is {driver.find_element(By.TAG_NAME, 'h1').text}")
                if heading == "Not understood":
                    check_refusal(driver, where)
                check_width(driver, where)
                check_words(driver, where)
                check_cards(driver, where)
                if size in ENDS:
                    check_rules(driver, where)
                    if scheme == "light":
                        check_keyboard(driver, where)
                picture(driver, folder, where)
        if is_live:
            part = "main [data-live]:not(#as-of)"
            driver.execute_script(f"document.querySelector('{part}').textContent = 'old'")
            WebDriverWait(driver, 20).until(
                lambda d: d.find_element(By.CSS_SELECTOR, part).text != "old", f"{name} is not live")
        # A page that refuses is meant to.
        check_log(driver, name, "400")


def look_as(driver, role, address, folder):
    """Each page is shown to a login of one role, or refused with the role that it needs. None is offered what is refused."""
    for name, path, heading, _ in PAGES:
        needed = REFUSED[role].get(name)
        for (size, width, height), scheme in zip(ENDS, SCHEMES):
            where = f"{role}-{name}-{size}-{scheme}"
            show(driver, width, height, scheme)
            driver.get(address + path)
            found = driver.find_element(By.TAG_NAME, "h1").text
            meant = BEGINS.get(role, heading) if name == "overview" else heading
            if found != (meant if needed is None else "Not allowed"):
                fault(where, f"its heading is {found}")
            if needed and needed not in driver.find_element(By.TAG_NAME, "main").text:
                fault(where, f"it does not name {needed}")
            if needed:
                check_refusal(driver, where)
            offers = ", ".join(f"main a[href{place}]" for place in OFFERS.get(role, []))
            if offers and driver.find_elements(By.CSS_SELECTOR, offers):
                fault(where, "it offers what is refused")
            check_width(driver, where)
            check_words(driver, where)
            check_rules(driver, where)
            picture(driver, folder, where)
        # A page that refuses is meant to: 403, or 400 for what is not understood.
        check_log(driver, f"{role}-{name}", "403" if needed else "400")
    for link in [one.get_attribute("href") for one in driver.find_elements(By.CSS_SELECTOR, "header nav a")]:
        driver.get(link)
        if driver.find_element(By.TAG_NAME, "h1").text == "Not allowed":
            fault(role, f"the menu leads to a refusal: {link}")


def look_at_nothing(driver, address, folder):
    for name, path, _, _ in PAGES:
        for size, width, height in ENDS:
            show(driver, width, height, "light")
            driver.get(address + path)
            check_width(driver, f"empty-{name}-{size}")
            check_words(driver, f"empty-{name}-{size}")
            picture(driver, folder, f"empty-{name}-{size}-light")
        driver.get_log("browser")


def change(sql):
    """Changes the database behind the pages' back."""
    subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-c", sql], check=True)


def look_at_updates(driver, address):
    """What is brought up to date keeps its focus, what is unfolded and what is marked, wherever it stands then."""
    show(driver, 1440, 900, "light")

    def active():
        return driver.execute_script(
            "const e = document.activeElement; return [e.closest('[id]')?.id, e.textContent || e.value]")

    for path, link, id, change_it, sign in [
        ("/batches", "#batch-B1 a", "batch-B1", "SELECT analysis.open_batch('ward 4')", "#batch-B2"),
        ("/jobs", "#job-20 a", "job-20",
         "SELECT analysis.submit_image('north-1', 'throat', '\\xffd8ff99'::bytea)", "#list tr:nth-child(43)"),
    ]:
        driver.get(address + path)
        driver.execute_script(f"document.querySelector('{link}').focus()")
        if path == "/jobs":
            driver.find_element(By.ID, "mark-19").click()
            driver.execute_script(f"document.querySelector('{link}').focus()")
        before = active()
        change(change_it)
        WebDriverWait(driver, 30).until(
            lambda d: d.find_elements(By.CSS_SELECTOR, sign), f"{path} does not show what is new")
        if active() != before or before[0] != id:
            fault(path, f"the focus went from {before} to {active()}")
        if path == "/jobs" and not driver.find_element(By.ID, "mark-19").is_selected():
            fault(path, "what was marked is not marked any more")
    driver.get(address + "/")
    summary = driver.find_element(By.CSS_SELECTOR, "#day-stock-table summary")
    summary.click()
    driver.execute_script("arguments[0].focus()", summary)
    change("SELECT analysis.pause('type', 'throat', 'looked at', NULL)")
    WebDriverWait(driver, 30).until(
        lambda d: "looked at" in d.find_element(By.TAG_NAME, "main").text, "the overview does not show a new pause")
    opened = [one.get_attribute("id") for one in driver.find_elements(By.CSS_SELECTOR, "main details[open]")]
    if opened != ["day-stock-table"] or active()[0] != "day-stock-table":
        fault("/", f"what was unfolded: {opened}, and the focus is on {active()}")
    change("SELECT analysis.resume('type', 'throat')")


def look_at_pointer(driver, address):
    """A chart says the values of the moment at which the pointer is."""
    show(driver, 1440, 900, "light")
    driver.get(address + "/")
    chart = driver.find_element(By.ID, "hour-stock")
    moment = chart.find_elements(By.CSS_SELECTOR, ".moments path")[7]
    told = moment.find_element(By.TAG_NAME, "title").get_attribute("textContent")
    reading = chart.find_element(By.CSS_SELECTOR, ".reading")
    before = reading.text
    ActionChains(driver).move_to_element(moment).perform()
    if reading.text != told or told == before or "waiting" not in told:
        fault("overview", f"the chart says {reading.text} where {told} is")


def mark(driver, address, folder, suffix=""):
    """Jobs that are marked in the list are changed together, by buttons that are seen where one is marked."""
    show(driver, *SIZES[0][1:], "light")
    for action, state, message in [("cancel", "waiting", "cancelled"), ("uncancel", "cancelled", "queued again")]:
        driver.get(f"{address}/jobs?state={state}")
        for job in (21, 22):
            driver.find_element(By.ID, f"mark-{job}").click()
        button = driver.find_element(By.CSS_SELECTOR, f"button[formaction='/matching/{action}']")
        if driver.execute_script("return arguments[0].getBoundingClientRect().bottom > innerHeight", button):
            fault(f"mark-{action}{suffix}", "the button is not seen")
        button.click()
        WebDriverWait(driver, 10).until(
            lambda d: d.find_elements(By.CSS_SELECTOR, "form.confirm button"), f"{action} of marked jobs asks nothing")
        driver.find_element(By.CSS_SELECTOR, "form.confirm button").click()
        done = WebDriverWait(driver, 10).until(
            lambda d: d.find_elements(By.CSS_SELECTOR, "main > .notice.good"), f"{action} of marked jobs says nothing")
        if f"2 jobs: {message}" not in done[0].text:
            fault(f"mark-{action}{suffix}", f"it does not say what was done: {done[0].text}")
        driver.save_screenshot(f"{folder}/did-mark-{action}{suffix}.png")


def take_pictures(driver, folder, addresses):
    """Every page as each login may see it, in four widths, light and dark."""
    for login, address in addresses.items():
        refused = REFUSED.get(login, {})
        for name, path, _, _ in PAGES:
            if name in refused:
                continue
            for size, width, height in SIZES:
                for scheme in SCHEMES:
                    show(driver, width, height, scheme)
                    driver.get(address + path)
                    picture(driver, folder, f"{login}-{name}-{size}-{scheme}")


def look_without_scripts(driver, address, folder):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    for name, path, heading, is_live in PAGES:
        driver.get(address + path)
        if driver.find_element(By.TAG_NAME, "h1").text != heading:
            fault(name, "it is another page without scripts")
        reloads = driver.find_elements(By.CSS_SELECTOR, "meta[http-equiv=refresh]")
        if bool(reloads) != is_live:
            fault(name, "it does not load itself anew without scripts, or should not")
        driver.save_screenshot(f"{folder}/{name}-without-scripts.png")
        # A page that refuses is meant to.
        check_log(driver, f"{name}-without-scripts", "400")
    act(driver, address, folder, "-without-scripts")
    mark(driver, address, folder, "-without-scripts")
    # Scripts of a driver run all the same.
    driver.get(address + "/jobs/45/review")
    check_photo(
        driver, "review-without-scripts",
        lambda name: driver.find_element(By.CSS_SELECTOR, f"label[for={name}]").click())
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def refuse(driver, address, folder):
    """Of an action that somebody else has taken meanwhile it is said that it was refused."""
    path = "/jobs/19/cancel"
    button = "form.confirm button"
    driver.get(address + path)
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(address + path)
    driver.find_element(By.CSS_SELECTOR, button).click()
    # A tab that is closed before it is answered may take its request back.
    WebDriverWait(driver, 10).until(lambda d: d.find_elements(By.CSS_SELECTOR, "main > .notice.good"))
    driver.close()
    driver.switch_to.window(first)
    driver.find_element(By.CSS_SELECTOR, button).click()
    WebDriverWait(driver, 10).until(lambda d: d.find_elements(By.CSS_SELECTOR, "main > [role=alert]"))
    for size, width, height in ENDS:
        for scheme in SCHEMES:
            where = f"refused-{size}-{scheme}"
            show(driver, width, height, scheme)
            if "unchanged: it was cancelled before" not in driver.find_element(By.CSS_SELECTOR, "main").text:
                fault(where, f"it does not say at {driver.current_url} why nothing was done")
            check_refusal(driver, where)
            check_width(driver, where)
            check_rules(driver, where)
            picture(driver, folder, where)
    driver.get(address + "/jobs/19/uncancel")
    driver.find_element(By.CSS_SELECTOR, button).click()
    WebDriverWait(driver, 10).until(lambda d: d.find_elements(By.CSS_SELECTOR, "main > .notice.good"))


def act(driver, address, folder, suffix="", actions=ACTIONS):
    for name, path, fields, message in actions:
        driver.get(address + path)
        buttons = driver.find_elements(By.CSS_SELECTOR, "form.confirm button")
        if not buttons:
            said = " ".join(driver.find_element(By.TAG_NAME, "body").text.split())
            fault(name + suffix, f"there is no form, but: {said[:500]}")
            continue
        for field, text in fields.items():
            choices = driver.find_elements(By.CSS_SELECTOR, f"input[type=radio][name={field}][value={text!r}]")
            if choices:
                choices[0].click()
            else:
                driver.find_element(By.NAME, field).send_keys(text)
        buttons[0].click()
        try:
            WebDriverWait(driver, 10).until(
                lambda d: any(message in one.text for one in d.find_elements(By.CSS_SELECTOR, "main > .notice.good")))
        except TimeoutException:
            fault(name + suffix, f"it does not say what was done at {driver.current_url}")
        driver.save_screenshot(f"{folder}/did-{name}{suffix}.png")


def check_photo(driver, where, click):
    """The photo fits its place, or is as large as it is, and is turned. `click` presses what is called so."""
    def measure():
        return driver.execute_script(
            "const image = document.querySelector('.photo img'), place = image.parentElement;"
            "const a = image.getBoundingClientRect(), b = place.getBoundingClientRect();"
            "return [a.width, a.height, image.naturalWidth, image.naturalHeight, b.width, b.height,"
            " place.scrollWidth, place.scrollHeight]")

    for turned in (False, True):
        width, height, *_, place_width, place_height, _, _ = measure()
        if not (0 < width <= place_width and 0 < height <= place_height):
            fault(where, f"the photo does not fit its place{' where it is turned' if turned else ''}: {measure()}")
        click("full")
        width, height, own_width, own_height, _, _, scrolled_width, scrolled_height = measure()
        wanted = (own_height, own_width) if turned else (own_width, own_height)
        if (round(width), round(height)) != wanted or scrolled_width < width or scrolled_height < height:
            fault(where, f"the photo is not as large as it is, or not all of it is reached: {measure()}")
        click("fit")
        click("turn-90")
    click("turn-0")


def review(driver, address, folder):
    """Ten verdicts by keyboard alone, from the list on; the time of each, from the photo's display to the next one's."""
    def press(*keys):
        ActionChains(driver).send_keys(*keys).perform()

    def shown():
        return driver.execute_script(
            "const image = document.querySelector('.photo img');"
            "return document.readyState === 'complete' && image?.complete && image.naturalWidth > 0"
            " ? location.pathname : null")

    show(driver, *SIZES[-1][1:], "light")
    driver.get(address + "/reviews/to-review")
    count = int(driver.find_element(By.CSS_SELECTOR, ".buttons a").text.split()[-1])
    while driver.switch_to.active_element.text != f"Begin with the first of {count}":
        press(Keys.TAB)
    press(Keys.ENTER)
    WebDriverWait(driver, 10).until(lambda d: shown())
    keys = {"fit": "f", "full": "1"}

    def click(name):
        if name in keys:
            return press(keys[name])
        while not driver.find_element(By.ID, name).is_selected():
            press("r")

    check_photo(driver, "review", click)
    verdicts = [
        ("agree", ["a"]), ("disagree", ["d"]), ("unsure", ["u"]), ("agree", ["1", "r", "f", "a"]),
        ("disagree, Pharyngitis instead", ["i", "Pharyngitis"]),
        ("unsure; a comment was added", ["u", "c", "Blurred.", Keys.ESCAPE]), ("agree", ["a"]), ("agree", ["a"]),
        ("disagree", ["d"]), ("agree", ["d", "a"])]
    for number, (verdict, pressed) in enumerate(verdicts, 1):
        before = shown()
        began = time.monotonic()
        press(*pressed, Keys.ENTER)
        try:
            WebDriverWait(driver, 10, 0.01).until(lambda d: shown() not in (None, before))
        except TimeoutException:
            fault("review", f"{verdict} leads nowhere from {before}")
            break
        job = before.split("/")[2]
        said = driver.find_element(By.CSS_SELECTOR, "main > .notice.good").text
        if said != f"Job {job}: {verdict}.":
            fault("review", f"after {pressed} of job {job} it says: {said}")
        print(f"review {number} by keyboard: {verdict}, in {time.monotonic() - began:.2f} s")
    # Nothing is sent without a verdict, and `n` goes on without one.
    before = shown()
    press(Keys.ENTER)
    if "Choose a verdict first" not in driver.find_element(By.ID, "review-state").text:
        fault("review", "it does not say that there is no verdict")
    picture(driver, folder, "review-by-keyboard")
    press("n")
    WebDriverWait(driver, 10).until(lambda d: shown() not in (None, before))
    # Switched off, a key does nothing.
    driver.find_element(By.ID, "keys").click()
    press("a")
    if driver.find_elements(By.CSS_SELECTOR, "[name=verdict]:checked"):
        fault("review", "keys work where they are switched off")
    driver.get(address + "/reviews/to-review")
    if f"All {count - len(verdicts)}" not in driver.find_element(By.TAG_NAME, "caption").text:
        fault("review", f"of {count} remain: {driver.find_element(By.TAG_NAME, 'caption').text}")
    check_log(driver, "review", "none")


def look_at_log_in(driver, address, folder):
    """Somebody logs in by keyboard alone, sees the pages of the own login, and logs out; in the dark without scripts."""
    for size, width, height in ENDS:
        for scheme in SCHEMES:
            for name, password, heading in [("wrong", "wrong", "Not logged in"), ("in", "a password", "Jobs")]:
                where = f"log-in-{name}-{size}-{scheme}"
                show(driver, width, height, scheme)
                driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": scheme == "dark"})
                driver.get(address + "/jobs")
                picture(driver, folder, f"log-in-{size}-{scheme}")
                driver.find_element(By.ID, "login").send_keys("reader", Keys.TAB)
                driver.switch_to.active_element.send_keys(password, Keys.ENTER)
                WebDriverWait(driver, 10).until(lambda d: not d.title.startswith("Log in "))
                driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
                if driver.find_element(By.TAG_NAME, "h1").text != heading:
                    fault(where, f"its heading is {driver.find_element(By.TAG_NAME, 'h1').text}")
                if name == "wrong":
                    check_refusal(driver, where)
                picture(driver, folder, where)
                check_width(driver, where)
                check_words(driver, where)
                # Without scripts a page loads itself anew, which no rule likes.
                if scheme == "light" or name == "wrong":
                    check_rules(driver, where)
                check_keyboard(driver, where)
                check_log(driver, where, "403")
            driver.find_element(By.CSS_SELECTOR, "header button").click()
            WebDriverWait(driver, 10).until(lambda d: d.title.startswith("Log in "))


def main(task, folder, address, *others):
    *others, empty, asking = others
    driver = browser()
    try:
        if task == "pictures":
            logins = {"owner": address} | dict(zip(REFUSED, others, strict=True)) | {"empty": empty}
            take_pictures(driver, folder, logins)
            return
        look(driver, address, folder)
        for role, other in zip(REFUSED, others, strict=True):
            look_as(driver, role, other, folder)
        look_at_nothing(driver, empty, folder)
        look_at_log_in(driver, asking, folder)
        look_at_pointer(driver, address)
        look_at_updates(driver, address)
        refuse(driver, address, folder)
        act(driver, others[2], folder, actions=OWN_ACTIONS)
        act(driver, address, folder)
        mark(driver, address, folder)
        look_without_scripts(driver, address, folder)
        review(driver, others[3], folder)
    finally:
        driver.quit()
        for one in faults:
            print(one)
    print(f"{len(PAGES)} pages, as {1 + len(others)} logins, and {len(ACTIONS) + len(OWN_ACTIONS)} actions looked at, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main(*sys.argv[1:])

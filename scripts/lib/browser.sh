# Debian's Chromium, driven by Python. Sourced, not run; needs packages.sh.
#
# prepare_browser   installs them, and sets `browser` to the Python that drives it

prepare_browser() {
  install_packages python3-venv python3-pil chromium chromium-driver || return
  local venv=$PWD/.build/browser
  browser=$venv/bin/python
  if ! "$browser" -c 'import selenium, axe_selenium_python, axe_playwright_python' 2>/dev/null; then
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check selenium axe-selenium-python
    # For the rules that it carries; what it is for itself, another driver, is not needed.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps axe-playwright-python
  fi
}

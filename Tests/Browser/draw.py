"""Draws pages as they are seen at first, 1100 pixels wide. Called by scripts/draw-readme: FOLDER, and for each picture its
name, its height in pixels and the address."""

import sys

from chromium import browser, show

folder, *pictures = sys.argv[1:]
driver = browser()
try:
    for name, height, address in zip(pictures[::3], pictures[1::3], pictures[2::3], strict=True):
        show(driver, 1100, int(height), "light")
        driver.get(address)
        driver.save_screenshot(f"{folder}/{name}.png")
finally:
    driver.quit()

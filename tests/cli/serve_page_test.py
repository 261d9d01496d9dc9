"""The page of `approxtrain serve` in a real browser: it shows a table, filters it, and renews it
while a sweep runs. Skipped (77) where there is no Chromium."""

import os
import sys
import tempfile

from browser import Browser, chromium
from program import Folder, expect, expect_equal, finish, wait_until
from serve_server import Server

SWEEP = """id = "fake:table"
network = "small_cnn"
dataset = "mnist14"
method = ["dense", "zero", "sdgp"]
seeds = "0-2"
"""
ROWS = "document.querySelectorAll('#runs tbody tr').length"
STATE = "document.getElementById('link').dataset.state"
BOX = """[...document.querySelectorAll("#filters input")]
  .find(e => e.name == "method" && e.value.startsWith("zero"))"""


def look(browser, folder, server):
    browser.call("Log.enable")
    browser.open(server.address)
    wait_until(lambda: browser.js(STATE) == "live")
    expect_equal(browser.js("document.querySelector('h1').innerText"), "t.db", "title")
    expect_equal(browser.js("document.title"), "(3/3) t.db", "title of the window")
    expect_equal(browser.js(ROWS), 3, "rows")
    expect_equal(browser.js("document.querySelectorAll('#curves svg.chart').length"), 2, "curves")
    for finding in browser.findings():
        expect(False, finding)
    browser.look(1440, "light")

    # By the keyboard: the box keeps the focus when the filters are made anew.
    browser.js(f"{BOX}.focus()")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", text=" ",
                 windowsVirtualKeyCode=32)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=" ", code="Space",
                 windowsVirtualKeyCode=32)
    wait_until(lambda: browser.js(ROWS) == 1)
    expect("method=zero" in browser.js("location.search"), "the filter is in the address")
    expect(browser.js(f"document.activeElement == {BOX}"), "focus")
    expect_equal(browser.js("document.querySelectorAll('#curves polyline').length"), 2,
                 "curves of the filter")

    # The rest of the sweep, with the filter as it is.
    browser.js("window.first_page = true")
    sweep = folder.start("sweep", "sweep.toml", "--db", "t.db", "--progress", "none",
                         env={"APPROXTRAIN_FAKE_STEP_MS": "20"})
    wait_until(lambda: browser.js("document.title") == "(9/9) t.db")
    _, err = sweep.communicate(timeout=60)
    expect_equal(sweep.returncode, 0, f"sweep ({err})")
    wait_until(lambda: browser.js(ROWS) == 3)
    expect(browser.js(f"{BOX}.checked"), "the filter is as it was")
    expect(browser.js("window.first_page"), "renewed, not loaded again")
    browser.js("document.getElementById('all').click()")
    wait_until(lambda: browser.js(ROWS) == 9 and browser.js(STATE) == "live")
    expect_equal(browser.js("location.search"), "", "everything again")

    expect_equal(server.end()[0], 143, "end")
    wait_until(lambda: "has ended" in browser.js("document.getElementById('link').innerText"))
    expect_equal(browser.js(ROWS), 9, "what it showed last is left")
    for url in browser.requests():
        expect(url.startswith((server.address, "data:")), f"asks for {url}")
    errors = [event["params"]["entry"]["text"] for event in browser.events
              if event.get("method") == "Log.entryAdded"
              and event["params"]["entry"]["source"] in ("security", "violation", "javascript")]
    expect_equal(errors, [], "what the browser complains of")


def main():
    program = chromium()
    if not program:
        sys.exit(77)
    with Folder(SWEEP) as folder, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as mine:
        expect_equal(folder.sweep("--seeds", "0")[0], 0, "first runs")
        server = Server(folder)
        browser = Browser(program, os.path.join(mine, "browser"))
        try:
            look(browser, folder, server)
        finally:
            browser.close()
            if server.process.poll() is None:
                server.process.kill()
    finish()


if __name__ == "__main__":
    main()

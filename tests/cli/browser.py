"""Chromium for the tests of pages: what finds it, and what speaks to it."""

import fcntl
import json
import os
import shutil
import subprocess
import sys

# Elements with text of their own whose contrast to what is behind them is below 4.5 (WCAG AA).
PALE = """(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 :
    ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = e => { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
    return e.parentElement ? behind(e.parentElement) : [255, 255, 255]; };
  return [...document.querySelectorAll("body *")].filter(e => !e.closest("svg") &&
      e.checkVisibility() && [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))
    .map(e => [e, light(rgb(getComputedStyle(e).color)) + .05, light(behind(e)) + .05])
    .filter(([e, a, b]) => Math.max(a, b) / Math.min(a, b) < 4.5)
    .map(([e, a, b]) => `pale: ${e.outerHTML.slice(0, 60)} ${Math.max(a, b) / Math.min(a, b)}`);
})()"""
# Words that are broken in the middle; behind "-" and "/" a word may go on in the next line.
BROKEN = """(() => {
  const found = [];
  for (const cell of document.querySelectorAll("th, td")) {
    if (!cell.checkVisibility()) continue;
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      for (const word of text.data.matchAll(/[^\\s\\/|?–-]+/g)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (lines.size > 1) found.push(`broken: ${word[0]}`);
      }
  }
  return found.slice(0, 9);
})()"""


def chromium():
    """Its path; None where there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """Chromium and its one page, spoken to over a pair of pipes."""
    def __init__(self, program, folder):
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_browser, from_browser)]
        root = ["--no-sandbox"] if os.geteuid() == 0 else []  # root cannot have the sandbox
        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--disable-gpu",
             f"--user-data-dir={folder}", *root, "about:blank"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=lambda: (os.dup2(high[0], 3), os.dup2(high[1], 4)))
        for fd in (to_browser, from_browser, *high):
            os.close(fd)
        self.events, self.unread, self.last, self.session = [], b"", 0, {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}

    def read(self):
        while b"\0" not in self.unread:
            if not (part := os.read(self.inp, 1 << 16)):
                sys.exit("the browser has gone")
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        self.events.append(json.loads(message))
        return self.events[-1]

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters, **self.session}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != self.last:
            pass
        return answer["result"]

    def js(self, code):
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True)
        return answer["result"].get("value")

    def open(self, url):
        for domain in ("Page", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)
        while self.read().get("method") != "Page.loadEventFired":
            pass

    def requests(self):
        """Addresses that pages asked for."""
        urls = (event.get("params", {}).get("request", {}).get("url") for event in self.events)
        return [url for url in urls if url]

    def look(self, width, scheme):
        """A window of that width, "light" or "dark"."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def findings(self):
        """What is wrong with how the page looks, in any window."""
        for width, scheme in [(375, "light"), (375, "dark"), (1440, "light"), (1440, "dark")]:
            self.look(width, scheme)
            if (wide := self.js("document.documentElement.scrollWidth")) > width:
                yield f"{wide} pixels wide in a window of {width}"
            yield from self.js(PALE)
            yield from self.js(BROKEN)

    def close(self):
        self.process.kill()
        self.process.wait()

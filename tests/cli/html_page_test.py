"""The HTML report in a real browser: `html_page_test.py PAGE.html`, or a store (`X.db`) whose page
`approxtrain report html` writes first. Skipped (77) where there is no Chromium."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile

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
# Tables of the summary that would have to be scrolled sideways.
WIDE = """[...document.querySelectorAll("section:not([id*=':']) .scroll")]
  .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
  .map(e => `${e.closest("section").id}: a table ${e.scrollWidth} wide in ${e.clientWidth}`)"""
# Figures come before tables, and items without results stand behind a fold.
ORDER = """[...document.querySelectorAll("section .table ~ .picture")].map(e =>
    `${e.closest("section").id}: a figure behind a table`).concat(
  [...document.querySelectorAll("nav a")].filter(e => e.checkVisibility()).map(e =>
    document.getElementById(e.getAttribute("href").slice(1))).filter(e => !e.checkVisibility())
    .map(e => `${e.id}: in the contents, and not to be seen`)).concat(
  document.querySelector(".next") ? [] : ["no line says what to do next"])"""
# The answer comes first: one sentence in the first screen, and below it what was compared, the
# verdicts, and the command for what is missing.
SUMMARY = """(() => {
  const found = [], top = document.querySelector("main > section"), said = document.querySelector(
    ".summary");
  if (!/^(\\d+ (methods?|rows of \\d+ methods?): .*\\.|No method has a verdict yet\\.)$/.test(
      said.innerText)) found.push(`on top: ${said.innerText}`);
  if (said.getBoundingClientRect().bottom > 700) found.push("not in the first screen");
  if (!top || top.id != "summary") return found.concat(`first comes ${top && top.id}`);
  const names = [...top.querySelectorAll("dl.provenance dt")].map(e => e.innerText);
  for (const name of ["networks", "data sets", "methods", "machines", "commits", "runs"])
    if (!names.includes(name)) found.push(`what was compared: no ${name}`);
  const column = head => [...top.querySelectorAll("table")].flatMap(table => {
    const at = [...table.querySelectorAll("thead th")].findIndex(e => e.innerText == head);
    return at < 0 ? [] : [...table.querySelectorAll("tbody tr:not(.above)")].map(
      row => row.children[at].innerText); });
  const verdicts = column("verdict"), commands = column("command");
  if (!verdicts.length) found.push("no verdicts");
  for (const text of verdicts)
    if (!/^(✔ yes|✘ .+|\\? .+)$/.test(text)) found.push(`a verdict ${text}`);
  if (!commands.length) found.push("nothing is missing");
  for (const text of commands)
    if (!/^approxtrain sweep \\S+/.test(text)) found.push(`a command ${text}`);
  return found;
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
SHOWN = "[...document.querySelectorAll('main > section')].filter(e => e.checkVisibility()).length"


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


def findings(browser, page):
    for domain in ("Page", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    while browser.read().get("method") != "Page.loadEventFired":
        pass
    for event in browser.events:
        url = event.get("params", {}).get("request", {}).get("url", "file:")
        if not url.startswith(("file:", "data:")):
            yield f"asks for {url}"
    for width, scheme in [(375, "light"), (375, "dark"), (1440, "light"), (1440, "dark")]:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800,
                     deviceScaleFactor=1, mobile=width < 600)
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])
        if (wide := browser.js("document.documentElement.scrollWidth")) > width:
            yield f"{wide} pixels wide in a window of {width}"
        yield from browser.js(PALE)
        yield from browser.js(BROKEN)
    browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=800, deviceScaleFactor=1,
                 mobile=False)
    yield from browser.js(WIDE)
    yield from browser.js(SUMMARY)
    yield from browser.js(ORDER)
    sections = browser.js(SHOWN)
    if not sections or not browser.js("document.querySelector('h1').innerText"):
        yield "no title or no sections"
    if browser.js("document.querySelectorAll('form input').length"):
        browser.js("document.querySelector('form input').click()")
        if not 0 < browser.js(SHOWN) <= sections:
            yield "the filter does not filter"
        browser.js("document.querySelector('form button').click()")
        if browser.js(SHOWN) != sections:
            yield "the filter cannot be undone"


def main():
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not program:
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = sys.argv[1]
        if page.endswith(".db"):
            page = os.path.join(folder, "page.html")
            subprocess.run([os.environ["APPROXTRAIN_PROGRAM"], "report", "html", "--db",
                            sys.argv[1], "--out", page], check=True)
        browser = Browser(program, os.path.join(folder, "browser"))
        found = list(findings(browser, page))
        browser.process.kill()
        browser.process.wait()
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

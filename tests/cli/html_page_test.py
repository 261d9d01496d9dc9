"""The HTML report in a real browser: `html_page_test.py PAGE.html`, or a store (`X.db`) whose page
`approxtrain report html` writes first. Skipped (77) where there is no Chromium."""

import os
import subprocess
import sys
import tempfile

from browser import Browser, chromium

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
    if (!/^(✔\\syes|✘\\s.+|\\?\\s.+)$/.test(text)) found.push(`a verdict ${text}`);
  if (!commands.length) found.push("nothing is missing");
  for (const text of commands)
    if (!/^approxtrain sweep \\S+/.test(text)) found.push(`a command ${text}`);
  return found;
})()"""
SHOWN = "[...document.querySelectorAll('main > section')].filter(e => e.checkVisibility()).length"


def findings(browser, page):
    browser.open("file://" + os.path.abspath(page))
    for url in browser.requests():
        if not url.startswith(("file:", "data:")):
            yield f"asks for {url}"
    yield from browser.findings()
    browser.look(1400, "dark")
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
    program = chromium()
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
        browser.close()
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

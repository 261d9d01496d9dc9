// Renews the parts of the page when the store has changed, and when the filter has.
"use strict";
(() => {
  const link = document.getElementById("link");
  const name = document.title;
  let source = null, at_work = false, again = false, ended = false;

  const say = (state, text) => {
    link.dataset.state = state;
    if (link.textContent !== text) link.textContent = text;
  };

  // Puts new content into a part. What was scrolled and what had the focus stays so.
  const put = (old, fresh) => {
    const boxes = () => [...old.querySelectorAll(".scroll, fieldset")];
    const scrolled = boxes().map(box => [box.scrollLeft, box.scrollTop]);
    const focus = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceChildren(...fresh.childNodes);
    boxes().forEach((box, i) => {
      if (scrolled[i]) [box.scrollLeft, box.scrollTop] = scrolled[i];
    });
    if (focus) document.getElementById(focus)?.focus({preventScroll: true});
  };

  const show_count = () => {
    const now = document.querySelector(".now");
    document.title = now ? "(" + now.dataset.short + ") " + name : name;
  };

  const renew_once = async () => {
    const answer = await fetch("live" + location.search, {cache: "no-store"});
    if (!answer.ok) throw new Error(answer.status);
    const text = await answer.text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of fresh.querySelectorAll(".part")) {
      const old = document.getElementById(part.id);
      // The page's own state, such as a ticked box, is not in innerHTML.
      if (old && old.innerHTML !== part.innerHTML) put(old, part);
    }
    show_count();
  };

  // One request at a time: what changes meanwhile is asked for once more.
  const renew = async () => {
    again = true;
    if (at_work) return;
    at_work = true;
    try {
      while (again) {
        again = false;
        await renew_once();
        if (source && !ended) {
          say("live", "Live. Renewed at " + new Date().toLocaleTimeString() + ".");
        }
      }
    } catch (error) {
      if (!ended) say("lost", "No answer. Trying again.");
    }
    at_work = false;
  };

  const listen = () => {
    if (source || ended) return;
    source = new EventSource("events");
    source.onopen = renew;
    source.addEventListener("change", renew);
    source.addEventListener("end", () => {
      ended = true;
      source.close();
      say("lost", "approxtrain serve has ended. What it showed last is left.");
    });
    source.onerror = () => {
      if (ended) return;
      say("lost", "Not connected. Trying again.");
      // A browser gives up after an answer that is no stream.
      if (source.readyState === EventSource.CLOSED) {
        source = null;
        setTimeout(listen, 3000);
      }
    };
  };

  // A page that nobody sees asks for nothing: timings on this machine are left in peace.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") return listen();
    source?.close();
    source = null;
    if (!ended) say("off", "Paused while this page is hidden.");
  });

  document.addEventListener("change", event => {
    if (event.target.form?.id !== "filter") return;
    const query = new URLSearchParams(new FormData(event.target.form)).toString();
    history.replaceState(null, "", query ? "?" + query : "./");
    renew();
  });
  document.getElementById("filter").addEventListener("submit", event => event.preventDefault());

  // A page from the browser's memory has ticks of its own.
  window.addEventListener("pageshow", event => { if (event.persisted) location.reload(); });

  show_count();
  if (document.visibilityState === "visible") listen();
})();

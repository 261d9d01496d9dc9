// Browsers refuse a Worker to a page that was opened from disk. Here the search of the site runs in a
// hidden frame instead; the theme asks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write("<html><body></body></html>");
      inside.document.close();
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      const load = (address) => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        Object.assign(script, {src: address, onload: resolve, onerror: reject});
        inside.document.body.append(script);
      });
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      this.loaded = load(new URL(url, location).href);
    }

    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.loaded.then(() => inside.dispatchEvent(new inside.MessageEvent("message", {data})));
    }

    terminate() {
      this.frame.remove();
    }
  };
}

// A page that was opened from a folder (file:) may start no worker, and the search of this site is
// one. Here the worker's script runs in a frame that nobody sees, with the same messages. The
// script looks for `IFrameWorker` in its parent to know that it runs so.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inner = this.frame.contentWindow
      inner.document.open()
      inner.document.write("<!doctype html><title>search</title>")
      inner.document.close()
      inner.postMessage = data =>
        setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })))
      const load = source =>
        new Promise((resolve, reject) => {
          const script = inner.document.createElement("script")
          script.src = source
          script.onload = resolve
          script.onerror = reject
          inner.document.body.append(script)
        })
      inner.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve())
      load(String(url)).then(() => {
        this.inner = inner
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      })
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}

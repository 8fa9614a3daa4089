// Opens a recording that is chosen or dropped: a worker reads it, and a frame without rights shows the page made of it.
"use strict";

const largest = 2 ** 30; // bytes of a recording; the program has 4 GiB at most

const element = (id) => document.getElementById(id);
const say = (text) => {
  element("state").textContent = text;
};

let worker = null;
let recording = null; // { bytes, stem }
let shown = null; // the address of the page in the frame

// Ends what was opened before, so that its memory is free.
function close() {
  if (worker) worker.terminate();
  if (shown) URL.revokeObjectURL(shown);
  worker = recording = shown = null;
  element("frame").removeAttribute("src");
  delete document.body.dataset.opened;
  element("report").hidden = element("more").hidden = true;
}

async function open(file) {
  close();
  if (file.size > largest) {
    say(file.name + " is too large for a browser: tracer report opens it.");
    return;
  }
  say("Reading " + file.name + " …");
  let bytes;
  try {
    bytes = await file.arrayBuffer();
  } catch (error) {
    say(file.name + " cannot be read: " + error);
    return;
  }
  recording = { bytes, stem: file.name.replace(/\.arrows$/, "") };
  const own = (worker = new Worker("worker.js"));
  own.onmessage = (event) => {
    if (own === worker) take(event.data);
  };
  own.onerror = (event) => {
    if (own === worker) say("It could not be opened: " + (event.message || "out of memory"));
  };
  ask("html", false);
}

let saving = false;

function ask(name, toSave) {
  saving = toSave;
  element("save").disabled = true;
  worker.postMessage({ recording: recording.bytes, name });
}

function take(made) {
  element("save").disabled = false;
  if (made.error) {
    say("It could not be opened: " + made.error);
    return;
  }
  say(made.note ? recording.stem + ": " + made.note : "");
  const type = made.ending === ".html" ? "text/html" : "application/octet-stream";
  const address = URL.createObjectURL(new Blob([made.content], { type }));
  if (saving) {
    const link = document.createElement("a");
    link.href = address;
    link.download = recording.stem + made.ending;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    return;
  }
  shown = address;
  element("report").hidden = element("more").hidden = false;
  element("frame").src = address;
  document.body.dataset.opened = "1";
}

element("file").addEventListener("change", (event) => {
  if (event.target.files.length) open(event.target.files[0]);
});
element("save").addEventListener("click", () => ask(element("form").value, true));
for (const kind of ["dragenter", "dragover"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
}
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  if (event.dataTransfer.files.length) open(event.dataTransfer.files[0]);
});

// Makes documents of one recording, with the compiled tracer. The page ends this worker when it opens another recording.
"use strict";

importScripts("wasm_exec.js");

async function start() {
  const response = await fetch("tracer.wasm.gz");
  if (!response.ok) throw new Error("the program was not loaded: " + response.status);
  const unpacked = response.body.pipeThrough(new DecompressionStream("gzip"));
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(await new Response(unpacked).arrayBuffer(), go.importObject);
  go.run(instance).catch((error) => postMessage({ error: String(error) }));
}

const started = start();

onmessage = async (event) => {
  const { recording, name } = event.data;
  try {
    await started;
    const made = ipytracerMake(new Uint8Array(recording), name);
    postMessage({ name, ...made });
  } catch (error) {
    postMessage({ name, error: String(error) });
  }
};

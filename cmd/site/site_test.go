//go:build !js

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeAll is a program for Node: it makes documents with the compiled program, and writes each into a file.
const makeAll = `
const fs = require("fs"), zlib = require("zlib");
const [, , site, recording, out, ...names] = process.argv;
globalThis.require = require;
globalThis.crypto ??= require("crypto").webcrypto; // Node 18 has none
require(site + "/wasm_exec.js");
const go = new Go();
const program = zlib.gunzipSync(fs.readFileSync(site + "/tracer.wasm.gz"));
WebAssembly.instantiate(program, go.importObject).then(({ instance }) => {
  go.run(instance);
  for (const name of names) {
    const made = ipytracerMake(new Uint8Array(fs.readFileSync(recording)), name);
    fs.writeFileSync(out + "/" + name, made.error ?? made.content);
    fs.writeFileSync(out + "/" + name + ".note", made.note ?? "");
  }
  process.exit(0);
});
`

// TestSiteMakesWhatTracerMakes: the compiled program makes each document, to the byte, as tracer report does; of a
// recording that was cut, and of other files, it says the same.
func TestSiteMakesWhatTracerMakes(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("no node: scripts/install.sh test")
	}
	site, work := filepath.Join(t.TempDir(), "site"), t.TempDir()
	if err := writeSite(site); err != nil {
		t.Fatal(err)
	}
	if text := contentOf(t, site, "licenses.txt"); !strings.Contains(text, "The Go Authors") ||
		!strings.Contains(text, "github.com/klauspost/compress") {
		t.Errorf("licenses.txt: %q", text)
	}
	script := filepath.Join(work, "make.cjs")
	if err := os.WriteFile(script, []byte(makeAll), 0o600); err != nil {
		t.Fatal(err)
	}
	tracer := filepath.Join(work, "tracer")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", tracer, "ipytracer/cmd/tracer").
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole, err := os.ReadFile("../../testdata/recording/format7.arrows")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{thePage, theAudit, "nothing"}
	for _, d := range documents {
		names = append(names, d.name)
	}
	for kind, data := range map[string][]byte{
		"whole": whole, "cut": whole[:2*len(whole)/3], "head": whole[:100], "text": []byte("this is none"), "empty": {},
		"flipped": flipped(whole),
	} {
		recording, out := filepath.Join(work, kind+".arrows"), filepath.Join(work, kind)
		if err := errors.Join(os.WriteFile(recording, data, 0o600), os.Mkdir(out, 0o700)); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command(node, append([]string{script, site, recording, out}, names...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, text)
		}
		compareDocuments(t, kind, data, out, names)
		if kind == "whole" {
			for _, name := range slices.DeleteFunc(slices.Clone(names[3:]), isOfGPUs) {
				compareToTracer(t, tracer, recording, name, contentOf(t, out, name))
			}
			compareToTracer(t, tracer, recording, thePage, contentOf(t, out, thePage))
		}
	}
}

// isOfGPUs reports whether a document cannot be made of a session without a GPU.
func isOfGPUs(name string) bool { return name == "memory-viz" }

// compareDocuments compares the documents that the compiled program made with those made here.
func compareDocuments(t *testing.T, kind string, data []byte, out string, names []string) {
	t.Helper()
	for _, name := range names {
		m, err := makeDocument(data, name)
		want := string(m.content)
		if err != nil {
			want = err.Error()
		}
		if got := contentOf(t, out, name); got != want {
			t.Errorf("%s as %s: %d bytes in the browser, %d here", kind, name, len(got), len(want))
		}
		if err == nil && contentOf(t, out, name+".note") != m.note {
			t.Errorf("%s as %s: note %q, want %q", kind, name, contentOf(t, out, name+".note"), m.note)
		}
	}
	if (kind == "cut" || kind == "flipped") && contentOf(t, out, "text.note") == "" {
		t.Errorf("%s: nothing says that it is not whole", kind)
	}
}

// flipped returns a recording with one bit of its middle changed.
func flipped(data []byte) []byte {
	data = bytes.Clone(data)
	data[len(data)/2] ^= 1
	return data
}

// contentOf returns the content of a file.
func contentOf(t *testing.T, folder, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// compareToTracer compares a document to that of tracer report.
func compareToTracer(t *testing.T, tracer, recording, name, got string) {
	t.Helper()
	arguments := []string{"report", recording, "--format", name, "-o", filepath.Join(t.TempDir(), "document")}
	if name == "text" {
		arguments = append(arguments, "--full")
	}
	if out, err := exec.Command(tracer, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	if want := contentOf(t, filepath.Dir(arguments[5]), "document"); got != want {
		t.Errorf("%s: %d bytes, tracer report writes %d", name, len(got), len(want))
	}
}

// TestSiteIsSmall: the program is at most 6 MB when packed, and whole.
func TestSiteIsSmall(t *testing.T) {
	packed, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	if len(packed) > 6_000_000 {
		t.Errorf("%d bytes", len(packed))
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var program bytes.Buffer
	if _, err := program.ReadFrom(r); err != nil || !strings.HasPrefix(program.String(), "\x00asm") {
		t.Errorf("%d bytes: %v", program.Len(), err)
	}
}

// TestSiteNeedsAnEmptyFolder: nothing that is there already is written over.
func TestSiteNeedsAnEmptyFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSite(folder); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("%v", err)
	}
}

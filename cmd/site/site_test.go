//go:build !js

package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeAll is a program for Node: it makes documents with the compiled program, and writes each into a file.
const makeAll = `
const fs = require("fs"), zlib = require("zlib"), path = require("path");
const [, , site, recordings, out, ...names] = process.argv;
globalThis.require = require;
globalThis.crypto ??= require("crypto").webcrypto; // Node 18 has none
require(site + "/wasm_exec.js");
const go = new Go();
const program = zlib.gunzipSync(fs.readFileSync(site + "/tracer.wasm.gz"));
const read = (of) => ({ name: path.basename(of), content: new Uint8Array(fs.readFileSync(of)) });
const files = recordings.split(",").map(read);
WebAssembly.instantiate(program, go.importObject).then(({ instance }) => {
  go.run(instance);
  for (const name of names) {
    const made = ipytracerMake(files, name);
    fs.writeFileSync(out + "/" + name, made.error ?? made.content);
    fs.writeFileSync(out + "/" + name + ".note", made.note ?? "");
  }
  process.exit(0);
});
`

// TestSiteMakesWhatTracerMakes: the compiled program makes each document, to the byte, as the tracer's commands do; of
// recordings that were cut, and of other files, it says the same.
func TestSiteMakesWhatTracerMakes(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("no node: scripts/install.sh test")
	}
	site, work := filepath.Join(t.TempDir(), "site"), t.TempDir()
	if err := writeSite(site); err != nil {
		t.Fatal(err)
	}
	text := contentOf(t, site, "licenses.txt")
	for _, of := range []string{"The Go Authors", "github.com/klauspost/compress", "@lezer/python", "Apache License"} {
		if !strings.Contains(text, of) {
			t.Errorf("licenses.txt has nothing of %s: %q", of, text)
		}
	}
	script, tracer := filepath.Join(work, "make.cjs"), filepath.Join(work, "tracer")
	if err := os.WriteFile(script, []byte(makeAll), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("../../scripts/build.sh", tracer)
	build.Env = append(os.Environ(), "CARRY_SITE="+site, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compareCarried(t, tracer, site)
	kinds, names := spoiled(t), []string{"nothing"}
	for _, d := range documents {
		names = append(names, d.name)
	}
	for kind, data := range kinds {
		if err := os.WriteFile(filepath.Join(work, kind+".arrows"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range [][]string{{"whole"}, {"cut"}, {"head"}, {"text"}, {"empty"}, {"flipped"}, {"advised"},
		{"whole", "whole"}, {"advised", "whole"}, {"cut", "whole"}, {"whole", "text"}, {"whole", "whole", "whole"}} {
		var files []file
		var paths []string
		for _, kind := range of {
			files = append(files, file{kind + ".arrows", kinds[kind]})
			paths = append(paths, filepath.Join(work, kind+".arrows"))
		}
		out := filepath.Join(work, strings.Join(of, "-"))
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command(node, append([]string{script, site, strings.Join(paths, ","), out}, names...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", of, err, text)
		}
		compareDocuments(t, files, out, names)
		isSpoiled := func(kind string) bool { return kind != "whole" && kind != "advised" }
		if len(of) <= 2 && !slices.ContainsFunc(of, isSpoiled) {
			compareToTracer(t, tracer, work, of, out)
		}
	}
}

// compareCarried compares the site that a tracer carries with the one in a folder.
func compareCarried(t *testing.T, tracer, site string) {
	t.Helper()
	again := filepath.Join(t.TempDir(), "new", "site")
	if out, err := exec.Command(tracer, "view", "--site", again).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("diff", "-r", site, again).CombinedOutput(); err != nil {
		t.Errorf("tracer view --site: %v\n%s", err, out)
	}
	out, err := exec.Command(tracer, "view", "--site", again).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not empty") {
		t.Errorf("into a folder that is not empty: %v\n%s", err, out)
	}
}

// spoiled returns recordings and what is none, by their kinds.
func spoiled(t *testing.T) map[string][]byte {
	t.Helper()
	whole, err := os.ReadFile("../../testdata/recording/format7.arrows")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("../../docs/pictures/advice.arrows.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	var advised bytes.Buffer
	if _, err := advised.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	return map[string][]byte{
		"whole": whole, "cut": whole[:2*len(whole)/3], "head": whole[:100], "text": []byte("this is none"), "empty": {},
		"flipped": flipped, "advised": advised.Bytes(),
	}
}

// compareDocuments compares the documents that the compiled program made with those made here.
func compareDocuments(t *testing.T, files []file, out string, names []string) {
	t.Helper()
	of, damaged := filepath.Base(out), false
	for _, name := range names {
		m, err := makeDocument(files, name)
		want := string(m.content)
		if err != nil {
			want = err.Error()
		}
		if got := contentOf(t, out, name); got != want {
			t.Errorf("%s as %s: %d bytes in the browser, %d here", of, name, len(got), len(want))
		}
		if err == nil && contentOf(t, out, name+".note") != m.note {
			t.Errorf("%s as %s: note %q, want %q", of, name, contentOf(t, out, name+".note"), m.note)
		}
		damaged = damaged || m.note != ""
	}
	if want := strings.Contains(of, "cut") || strings.Contains(of, "flipped"); damaged != want {
		t.Errorf("%s: it says that it is not whole: %v", of, damaged)
	}
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

// compareToTracer compares the documents of recordings to those that the tracer's commands write.
func compareToTracer(t *testing.T, tracer, work string, of []string, out string) {
	t.Helper()
	compared := 0
	for _, d := range documents {
		if d.inputs() != len(of) {
			continue
		}
		written := filepath.Join(t.TempDir(), "document")
		arguments := []string{d.of, "-q", "--format", strings.TrimPrefix(d.name, d.of+"-"), "-o", written}
		if d.name == "text" {
			arguments = append(arguments, "--full")
		}
		for _, kind := range of {
			arguments = append(arguments, kind+".arrows")
		}
		cmd := exec.Command(tracer, arguments...)
		cmd.Dir = work
		said, err := cmd.CombinedOutput()
		if d.name == "memory-viz" { // neither session had a GPU
			here := contentOf(t, out, d.name)
			if text := strings.TrimSpace(string(said)); err == nil || !strings.HasSuffix(text, here) {
				t.Errorf("%s: %q, tracer says %q", d.name, here, text)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", d.name, err, said)
		}
		if got, want := contentOf(t, out, d.name), contentOf(t, filepath.Dir(written), "document"); got != want {
			t.Errorf("%s of %s: %d bytes, tracer writes %d", d.name, of, len(got), len(want))
		}
		compared++
	}
	if compared < 4 {
		t.Errorf("%s: %d documents", of, compared)
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

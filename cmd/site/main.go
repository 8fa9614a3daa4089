//go:build !js

package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/site"
)

// page has the files of the site beside the program itself.
//
//go:embed page
var page embed.FS

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: site DIR")
		os.Exit(2)
	}
	if err := writeSite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// program is the file of the compiled program, packed: the page unpacks it, so any web server will do.
const program = "tracer.wasm.gz"

// writeSite writes the site into a folder that is new or empty.
func writeSite(dir string) error {
	if err := site.Prepare(dir); err != nil {
		return err
	}
	wasm, err := compile()
	if err != nil {
		return err
	}
	glue, err := os.ReadFile(filepath.Join(goRoot(), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return fmt.Errorf("find Go's own part of the page: %w", err)
	}
	licences, err := licences()
	if err != nil {
		return err
	}
	files := map[string][]byte{program: wasm, "wasm_exec.js": glue, "licenses.txt": licences}
	entries, err := page.ReadDir("page")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if files[e.Name()], err = page.ReadFile("page/" + e.Name()); err != nil {
			return err
		}
	}
	files["index.html"] = []byte(strings.NewReplacer("POLICY", policy(), "DOCUMENTS", choices()).
		Replace(string(files["index.html"])))
	return site.Write(files, dir)
}

// compile compiles this package for a browser, and packs the result.
func compile() ([]byte, error) {
	folder, err := os.MkdirTemp("", "ipytracer-site-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "tracer.wasm")
	if _, err := forBrowser("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, itself); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(content); err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

// itself is this package.
const itself = "ipytracer/cmd/site"

// forBrowser runs a command of Go's for the browser's platform, and returns its output.
func forBrowser(arguments ...string) ([]byte, error) {
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", arguments[0], err, said.Bytes())
	}
	return out, nil
}

// licences returns the licences of what the site contains: Go's, those of all modules in the program, and those of the
// libraries in the page that it makes.
func licences() ([]byte, error) {
	out, err := forBrowser("list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}", itself)
	if err != nil {
		return nil, err
	}
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(modules)
	var b bytes.Buffer
	for _, module := range append([]string{"Go\t" + goRoot()}, slices.Compact(modules)...) {
		name, folder, _ := strings.Cut(module, "\t")
		if folder == "" { // the standard library's
			continue
		}
		texts, err := filepath.Glob(filepath.Join(folder, "LICEN[CS]E*"))
		if err != nil || len(texts) == 0 {
			return nil, fmt.Errorf("%s has no licence in %s", name, folder)
		}
		if strings.TrimSpace(name) == "ipytracer" {
			texts = append(texts, filepath.Join(folder, "internal/report/html/page/dist/LICENSES.txt"))
		}
		for _, path := range texts {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%s\n\n%s\n\n", strings.TrimSpace(name), bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// goRoot returns the folder of the Go that compiles, with its part of the page; "" if no Go is in the PATH.
func goRoot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// marks are what Readers of a format have of Markdown.
var marks = regexp.MustCompile("`|\\[|\\]\\(.*?\\)")

// choices returns the documents as a list from which one is chosen, in groups. A group names the command that writes
// the same.
func choices() string {
	var b strings.Builder
	for i, d := range documents {
		if i == 0 || documents[i-1].of != d.of {
			fmt.Fprintf(&b, "</optgroup>\n<optgroup label=\"tracer %s\" data-inputs=\"%d\">\n", d.of, d.inputs())
		}
		label := strings.TrimPrefix(d.name, d.of+"-")
		if d.of == "report" {
			label += ": " + marks.ReplaceAllString(formats.Of(label).Readers, "")
		}
		fmt.Fprintf(&b, "<option value=\"%s\">%s</option>\n", d.name, template.HTMLEscapeString(label))
	}
	return strings.TrimPrefix(b.String(), "</optgroup>\n") + "</optgroup>"
}

// policy returns the content policy of the site. It may load its own files only. A document is shown in a frame, which
// inherits this policy, so it also allows the programs and style sheets of documents, by their hashes.
func policy() string {
	report := map[string]string{}
	for directive := range strings.SplitSeq(html.Policy(html.Options{}), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), " ")
		report[name] = value
	}
	return "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' " + report["script-src"] +
		"; style-src 'self' " + report["style-src"] + " " + doc.StyleSource() +
		"; connect-src 'self'; worker-src 'self'; frame-src 'self' blob:" +
		"; img-src 'self' data:; base-uri 'none'; form-action 'none'"
}

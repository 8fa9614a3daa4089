// Package python has the notebook's companion as it is embedded in the tracer, so that a binary can put it where an interpreter finds it.
//
// What belongs here is the package's files and how to pack them; who runs an interpreter, and as whom, does not.
package python

import (
	"archive/zip"
	"bytes"
	"embed"
	"io/fs"
	"strings"
)

//go:embed src/ipytracer/*.py src/ipytracer/compat/*.py src/ipytracer/compat/*/*.py src/ipytracer/compat/*/*/*.py
var files embed.FS

// Install is the text of a program for the interpreter: its argument says install or uninstall, the package comes on standard input.
//
//go:embed install.py
var Install string

// Package returns the package's files as a zip file, names beginning with "ipytracer/". Equal files give equal bytes.
func Package() ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	root, err := fs.Sub(files, "src")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isOfPackage(path) {
			return err
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		f, err := w.Create(path)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// isOfPackage leaves out what an interpreter leaves behind beside the sources.
func isOfPackage(path string) bool {
	return strings.HasSuffix(path, ".py") || strings.HasSuffix(path, "/py.typed")
}

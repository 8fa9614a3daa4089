// Package python has the notebook's companion, embedded in the tracer. So a binary can put it where an interpreter
// finds it.
//
// It has the package's files and packs them. It runs no interpreter, and knows nothing of users.
package python

import (
	"archive/zip"
	"bytes"
	"embed"
	"io/fs"
	"strings"
)

//go:embed src/ipytracer/py.typed src/ipytracer/*.py src/ipytracer/counts
//go:embed src/ipytracer/compat/*.py src/ipytracer/compat/*/*.py src/ipytracer/compat/*/*/*.py labextension/built
var files embed.FS

// Install is the text of a program for the interpreter. Its argument is install or uninstall. It reads the package from
// standard input.
//
//go:embed install.py
var Install string

// TryRun is the text of the program that runs a notebook for `tracer try`. It hands TryDigest to the kernel, and starts
// TryShell where Jupyter's packages are not installed.
//
//go:embed src/ipytracer/_try_run.py
var TryRun string

// TryDigest is the text of the program that makes digests of a notebook's variables, in its kernel.
//
//go:embed src/ipytracer/_try_digest.py
var TryDigest string

// TryShell is the text of a kernel that needs IPython alone.
//
//go:embed src/ipytracer/_try_shell.py
var TryShell string

// Package returns a zip file: the package's files, with names that begin with "ipytracer/", and JupyterLab's extension,
// with names that begin with "labextension/". Equal files give equal bytes.
func Package() ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := pack(w, "src/", "", isOfPackage); err != nil {
		return nil, err
	}
	if err := pack(w, "labextension/built/", "labextension/", func(string) bool { return true }); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// pack writes the embedded files below a folder that belong to the package. The folder's name ends in a slash, and
// instead replaces it.
func pack(w *zip.Writer, folder, instead string, belongs func(path string) bool) error {
	return fs.WalkDir(files, strings.TrimSuffix(folder, "/"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !belongs(path) {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		f, err := w.Create(instead + strings.TrimPrefix(path, folder))
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return err
	})
}

// isOfPackage reports whether a file belongs to the package: a Python source, or the counting library of a machine,
// which a build without a C compiler does not have. An interpreter leaves other files beside them.
func isOfPackage(path string) bool {
	return strings.HasSuffix(path, ".py") || strings.HasSuffix(path, "/py.typed") || strings.HasSuffix(path, ".so")
}

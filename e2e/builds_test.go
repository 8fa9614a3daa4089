package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuilds runs the catalogue on builds of CPython as people make them (scripts/pythons.sh), with the libraries of the Debian that
// has the same version.
func TestBuilds(t *testing.T) {
	require(t)
	for _, name := range []string{"plain313"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(pythonsDir(), "builds")
			needTree(t, filepath.Join(root, "opt", name))
			enter(t, root)
			for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
				t.Run(driver, func(t *testing.T) {
					checkTruth(t, place{driver: driver, python: filepath.Join("/opt", name, "bin/python3.13"), chroot: root}, nil)
				})
			}
		})
	}
}

// TestSharedLibrary: libpython3.15.so compiles cells without Py_CompileStringObject; they are seen at the call of PySys_Audit.
func TestSharedLibrary(t *testing.T) {
	require(t)
	t.Parallel()
	root := filepath.Join(pythonsDir(), "sid")
	needTree(t, root)
	library := filepath.Join(root, "usr/lib/x86_64-linux-gnu/libpython3.15.so.1.0")
	if _, err := os.Stat(library); err != nil {
		t.Skipf("%s is not there: Debian has moved on, or the tree is older than this test", library)
	}
	enter(t, root)
	dir, err := os.MkdirTemp("/tmp", "ipytracer-shared-") // seen from within the chroot
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "python3.15")
	text := "int Py_BytesMain(int, char **);\nint main(int n, char **arguments) { return Py_BytesMain(n, arguments); }\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", source, "-o", program, "-Wl,--allow-shlib-undefined", library).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		t.Run(driver, func(t *testing.T) {
			p := place{driver: driver, python: program, chroot: root}
			r := compareTruth(t, p, nil, "--budget", "off")
			checkCertificate(t, r)
			for _, probe := range r.Certificate.Probes {
				if probe.Name == "cell starts" && (!strings.HasPrefix(probe.Site, "PySys_Audit+") || strings.Contains(probe.Site, "stepped")) {
					t.Errorf("cell starts: %s", probe.Site)
				}
			}
		})
	}
}

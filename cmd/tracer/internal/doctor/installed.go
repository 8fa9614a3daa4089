package doctor

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer"
)

// maxInstalled bounds the number of examined interpreters.
const maxInstalled = 64

// executableName matches the names of interpreters; "python3-config" is none.
var executableName = regexp.MustCompile(`^python3(\.\d+t?d?)?$`)

// versionInName matches the version in a file's name.
var versionInName = regexp.MustCompile(`python(3\.\d+)[^/]*$`)

// fileList is the result of a look at files.
type fileList struct {
	Pythons []InstalledPython
	Checks  []Finding
}

// lookAtFiles has a process without rights examine the installed Pythons, NumPys and C libraries.
func (d *Diagnosis) lookAtFiles(ctx context.Context) {
	var found fileList
	d.ask(ctx, &found, files, "installed Pythons")
	d.Pythons, d.Checks = append(d.Pythons, found.Pythons...), append(d.Checks, found.Checks...)
}

func findFiles(home string) fileList {
	d := Diagnosis{Pythons: InstalledPythons(home)}
	d.cLibrary()
	d.numPy()
	return fileList{d.Pythons, d.Checks}
}

// InstalledPythons searches the usual places of Pythons, also in a home, if it is not "". It executes nothing: it reads
// the files.
func InstalledPythons(home string) (out []InstalledPython) {
	seen := map[string]bool{}
	for _, path := range pythonPaths(home) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		if p, ok := examinePython(path, real); ok {
			out = append(out, p)
		}
		if len(out) == maxInstalled {
			break
		}
	}
	slices.SortStableFunc(out, func(a, b InstalledPython) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// pythonPaths returns candidates, the likeliest first.
func pythonPaths(home string) (paths []string) {
	dirs := append([]string{"/usr/bin", "/usr/local/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, place := range []string{"/opt/*/bin", "/opt/*/envs/*/bin"} {
		dirs = append(dirs, glob(place)...)
	}
	if home != "" {
		for _, place := range []string{
			".pyenv/versions/*/bin", ".local/share/uv/python/*/bin", ".local/bin", "miniconda3/bin", "anaconda3/bin",
			"miniforge3/bin", "mambaforge/bin", "micromamba/bin", "*conda3/envs/*/bin", "mini*forge3/envs/*/bin",
			"mambaforge/envs/*/bin", "micromamba/envs/*/bin", ".conda/envs/*/bin", ".venv/bin", "venv/bin",
		} {
			dirs = append(dirs, glob(filepath.Join(home, place))...)
		}
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, path := range glob(filepath.Join(dir, "python3*")) {
			if executableName.MatchString(filepath.Base(path)) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern) // the patterns are well-formed
	return found
}

// examinePython looks into an executable; a file that is no ELF file, such as a shim, is no Python.
func examinePython(path, real string) (InstalledPython, bool) {
	p := InstalledPython{Path: path, Interpreter: real, Probes: []ProbeSites{}}
	err := p.inspect(real)
	if errors.Is(err, cpython.ErrNotPython) {
		lib := sharedInterpreter(real)
		if lib == "" {
			return p, false
		}
		p.Interpreter = lib
		err = p.inspect(lib)
	}
	if errors.Is(err, cpython.ErrNotPython) {
		return p, false
	}
	if err != nil {
		var unsupported *cpython.UnsupportedError
		p.Reason = err.Error()
		if errors.As(err, &unsupported) {
			p.Version, p.Reason = unsupported.Version.String(), unsupported.Reason
		}
		if m := versionInName.FindStringSubmatch(p.Interpreter); m != nil &&
			(unsupported == nil || unsupported.Version.Major == 0) {
			p.Version = m[1] // the file itself has no version
		}
	}
	return p, true
}

func (p *InstalledPython) inspect(path string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	build, err := tracer.Inspect(f)
	p.Version = build.Version
	if err != nil {
		return err
	}
	p.Supported, p.Reason, p.Statements = build.Unseen == "", build.Unseen, build.Statements
	for _, g := range build.Groups {
		p.Probes = append(p.Probes, newProbeSites(g))
	}
	return nil
}

func newProbeSites(g tracer.BuildGroup) ProbeSites {
	out := ProbeSites{Group: g.Name, Found: g.Found, Emulated: g.Found, Sites: []string{}}
	for _, s := range g.Sites {
		if !s.Present() {
			continue
		}
		out.Sites = append(out.Sites, fmt.Sprintf("%s%+d", s.Symbol, s.Delta))
		out.Emulated = out.Emulated && s.Emulated
	}
	return out
}

// openRegular opens a regular file only: a pipe or a device could block.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err, f.Close())
	}
	return f, nil
}

// sharedInterpreter finds the libpython of an executable: beside it, in its RUNPATH, or in the usual folders of
// libraries.
func sharedInterpreter(path string) string {
	f, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	needed := elffile.Needed(f)
	at := slices.IndexFunc(needed, func(name string) bool { return strings.HasPrefix(name, "libpython3.") })
	if at < 0 || strings.Contains(needed[at], "/") {
		return ""
	}
	dir := filepath.Dir(path)
	dirs := []string{}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		for _, v := range elffile.DynamicTexts(f, tag) {
			dirs = append(dirs,
				strings.Split(strings.ReplaceAll(strings.ReplaceAll(v, "${ORIGIN}", dir), "$ORIGIN", dir), ":")...)
		}
	}
	dirs = append(dirs, filepath.Join(dir, "../lib"), "/usr/local/lib", "/usr/lib/"+elffile.Triplet, "/usr/lib64",
		"/usr/lib")
	for _, d := range dirs {
		if lib := filepath.Join(d, needed[at]); filepath.IsAbs(lib) {
			if _, err := os.Stat(lib); err == nil {
				return lib
			}
		}
	}
	return ""
}

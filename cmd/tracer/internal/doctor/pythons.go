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
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer"
)

// runningList is the result of a look for running Pythons.
type runningList struct {
	Running []RunningPython
	Unseen  []string
}

// lookAtRunning adds every running Python that this user may look into.
func (d *Diagnosis) lookAtRunning(ctx context.Context) {
	var found runningList
	d.askLook(ctx, &found, runningPythons, "running Pythons")
	d.Running, d.Unseen = append(d.Running, found.Running...), append(d.Unseen, found.Unseen...)
}

func findRunning(ctx context.Context, fs process.FS) (found runningList, err error) {
	listing, err := fs.Pythons(ctx, tracer.IsPython)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return found, err
	}
	if err != nil {
		found.Unseen = append(found.Unseen, "some of the running processes: it took too long")
	}
	if listing.Hidden > 0 {
		found.Unseen = append(found.Unseen,
			fmt.Sprintf("processes that this user may not examine: %d, of which %d are Pythons by name",
				listing.Hidden, listing.HiddenPythons))
	}
	describer := tracer.NewDescriber(fs)
	defer describer.Close()
	for _, p := range listing.Pythons {
		found.Running = append(found.Running, describeRunning(fs, describer, p))
	}
	return found, nil
}

func describeRunning(fs process.FS, describer *tracer.Describer, p process.Python) RunningPython {
	seen, _ := describer.Describe(p) // unknown facts are empty
	out := RunningPython{
		PID: p.PID, User: p.User, Python: seen.Python, IPython: seen.IPython, Frontend: seen.Frontend,
		Probes: []ProbeSites{},
	}
	f, err := fs.Image(p.PID).OpenMapping(p.Interpreter)
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	defer f.File.Close()
	build, err := tracer.Inspect(f.File)
	if out.Python == "" {
		out.Python = build.Version
	}
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	out.Supported, out.Reason, out.Statement = build.Unseen == "", build.Unseen, build.Statements
	for _, g := range build.Groups {
		out.Probes = append(out.Probes, newProbeSites(g))
	}
	return out
}

// advisePythons adds advice about the Pythons that were found.
func (d *Diagnosis) advisePythons() {
	supported := 0
	for _, p := range d.Pythons {
		if p.Supported {
			supported++
		}
	}
	for _, p := range d.Running {
		if !p.Supported {
			d.advise("", "process %d runs a Python that is not supported: %s", p.PID, p.Reason)
			continue
		}
		supported++
		for _, g := range p.Probes {
			if !g.Found {
				d.advise("", "process %d: its Python (%s) has no place for the probes on %s", p.PID, p.Python, g.Group)
			}
		}
	}
	if supported == 0 {
		d.advise("", "no Python from 3.9 to 3.15 was found on this machine; install one, with IPython")
	}
}

// maxInstalled is the most interpreters that are found.
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

// lookAtFiles makes a process without rights examine the installed Pythons, NumPys and C libraries.
func (d *Diagnosis) lookAtFiles(ctx context.Context) {
	var found fileList
	d.askLook(ctx, &found, files, "installed Pythons")
	d.Pythons, d.Checks = append(d.Pythons, found.Pythons...), append(d.Checks, found.Checks...)
}

func findFiles(home string) fileList {
	d := Diagnosis{Pythons: InstalledPythons(home)}
	d.cLibrary()
	d.numPy()
	return fileList{d.Pythons, d.Checks}
}

// InstalledPythons finds Pythons in the usual places, also in a home unless that is "". It reads files and executes
// nothing.
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

// pythonPaths returns the paths of possible interpreters, the likeliest first.
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

// examinePython examines an executable. It returns false for a file that is no Python, such as a script.
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
		hasVersion := unsupported != nil && unsupported.Version.Major != 0
		if m := versionInName.FindStringSubmatch(p.Interpreter); m != nil && !hasVersion {
			p.Version = m[1]
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

// openRegular opens a regular file. It refuses others, because reading a pipe or a device could block.
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
			expanded := strings.NewReplacer("${ORIGIN}", dir, "$ORIGIN", dir).Replace(v)
			dirs = append(dirs, strings.Split(expanded, ":")...)
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

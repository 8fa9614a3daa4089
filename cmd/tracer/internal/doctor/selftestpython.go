package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"ipytracer/internal/host/privileges"
)

// CellPython is an interpreter with the versions of its packages; "" for a missing one.
type CellPython struct {
	Path    string
	Version string `json:"python"`
	IPython string `json:"ipython"`
	NumPy   string `json:"numpy"`
}

const askVersions = `
import json, platform
out = {"python": platform.python_version(), "ipython": "", "numpy": ""}
for name, module in (("ipython", "IPython"), ("numpy", "numpy")):
    try:
        out[name] = __import__(module).__version__
    except Exception:
        pass
print(json.dumps(out))`

// FindPython returns the first Python that has IPython and NumPy, else the first that has IPython, nil if there is
// none.
func FindPython(ctx context.Context, paths []string) (best *CellPython) {
	for _, path := range paths {
		p, err := AskPython(ctx, path)
		if err != nil || p.IPython == "" {
			continue
		}
		if p.NumPy != "" {
			return p
		}
		if best == nil {
			best = p
		}
	}
	return best
}

// AskPython runs a Python, as the invoking user, and asks it for its packages.
func AskPython(ctx context.Context, path string) (*CellPython, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // an emulated machine takes one
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-c", askVersions)
	who, err := privileges.FindInvoker()
	if err != nil {
		return nil, err
	}
	if err := who.Dress(cmd); err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	p := &CellPython{Path: path}
	if err := json.Unmarshal(out, p); err != nil {
		return nil, fmt.Errorf("the program that answers is no Python: %w", err)
	}
	return p, nil
}

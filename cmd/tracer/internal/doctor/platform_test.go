package doctor

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/host/process"
)

// TestPlatforms: releases and files as public reports show them.
func TestPlatforms(t *testing.T) {
	for _, c := range []struct{ release, file, want string }{
		{"6.6.87.2-microsoft-standard-WSL2", "", "WSL 2"},
		{"5.15.90.1-microsoft-standard-WSL2", "", "WSL 2"},
		{"6.10.14-linuxkit", "", "Docker Desktop"},
		{"6.15.11-orbstack-00542-g4f455d264886", "", "OrbStack"},
		{"6.8.11-300.fc40.aarch64", "/etc/containers/podman-machine", "a Podman machine"},
		{"6.8.0-45-generic", "/mnt/lima-cidata", "Lima or Colima"},
		{"6.8.0-45-generic", "/etc/hostname", ""},
		{"", "", ""},
	} {
		p := platformOf(c.release, func(path string) bool { return path == c.file })
		got := ""
		if p != nil {
			got = p.name
		}
		if p != nil && strings.Contains(p.update, "delete") {
			t.Errorf("%s: %q is lost with the machine", p.name, p.update)
		}
		if got != c.want {
			t.Errorf("%s with %q is %q, want %q", c.release, c.file, got, c.want)
		}
	}
}

// TestPlatform: a user is told where to type the command, and how the kernel gets what it lacks.
func TestPlatform(t *testing.T) {
	for _, btf := range []bool{true, false} {
		facts := able()
		facts.Kernel, facts.BTF = "5.10.102.1-microsoft-standard-WSL2", btf
		d := diagnose(facts)
		at := slices.IndexFunc(d.Checks, func(f Finding) bool { return f.ID == "platform" })
		if at < 0 || !strings.Contains(d.Checks[at].Detail, "WSL 2") {
			t.Fatalf("%+v", d.Checks)
		}
		updates := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Command == "wsl --update" })
		// Without BTF there is also what a notebook has without a tracer.
		if updates == btf || btf && len(d.Actions) > 0 || len(d.Actions) > 2 {
			t.Errorf("with BTF %v: %+v", btf, d.Actions)
		}
	}
	d := diagnose(process.Facts{})
	d.checkTranslation("processor\t: 0\nvendor_id\t: GenuineIntel\n")
	if slices.ContainsFunc(d.Checks, func(f Finding) bool { return f.ID == "translation" }) {
		t.Errorf("%+v", d.Checks)
	}
}

package telemetry

import (
	"strings"
	"testing"

	"ipytracer/internal/hostile"
)

// FuzzClaims has the command line and the environment of a kernel, and the name of its unit.
func FuzzClaims(f *testing.F) {
	f.Add("python3\x00-m\x00ipykernel\x00-f=/run/kernel-01234567-89ab-cdef-0123-456789abcdef.json", "ada", `\x61da`)
	long := strings.Repeat(`\x2d`, 1<<18)
	f.Add(long, long, long)
	f.Add(strings.Repeat("=\x00", 1<<16), "\xff\x00", `\x`)
	hostile.Fuzz(f, 32<<20, func(t *testing.T, arguments, value, unit string) {
		id := KernelID(strings.Split(arguments, "\x00"))
		if id != "" && len(id) != 36 {
			t.Errorf("%q", id)
		}
		var claims Claims
		HubClaims(map[string]string{HubVariables[0]: value, HubVariables[1]: value}, &claims)
		if len(claims.HubUser) > MaxLabel {
			t.Errorf("a label of %d bytes", len(claims.HubUser))
		}
		if user, is := HubUnit("/system.slice/jupyter-" + unit + "-singleuser.service"); is && len(user) > len(unit) {
			t.Errorf("%q became %q", unit, user)
		}
	})
}

package telemetry

import (
	"strings"
	"testing"

	"ipytracer/internal/hostile"
)

// TestOfPod: users and servers are those of KubeSpawner's annotations, or of its older labels; no other pod has any.
func TestOfPod(t *testing.T) {
	server := func(more ...string) map[string]string {
		all := map[string]string{componentKey: singleUser}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for name, one := range map[string]struct {
		labels, annotations map[string]string
		user, server        string
	}{
		"annotations": {
			server(userKey, "ann-x-org---0925f997", serverKey, "gpu"),
			map[string]string{userKey: "ann@x.org", serverKey: "GPU 1"}, "ann@x.org", "GPU 1",
		},
		"escaped":       {server(userKey, "ann-40x-2eorg", serverKey, "gpu-201"), nil, "ann@x.org", "gpu 1"},
		"older label":   {map[string]string{olderKey: singleUser, userKey: "ann"}, nil, "ann", ""},
		"not escaped":   {server(userKey, "ann-smith"), nil, "ann-smith", ""},
		"cut":           {server(userKey, "ann-4"), nil, "ann-4", ""},
		"no text":       {server(userKey, "ann-ff"), nil, "ann-ff", ""},
		"letters":       {server(userKey, "-c3-a9va"), nil, "éva", ""},
		"default":       {server(userKey, "ann", serverKey, ""), map[string]string{userKey: "ann"}, "ann", ""},
		"the hub":       {map[string]string{componentKey: "hub", userKey: "ann"}, nil, "", ""},
		"no user":       {server(), nil, "", ""},
		"not a server":  {map[string]string{userKey: "ann"}, map[string]string{userKey: "ann"}, "", ""},
		"nothing":       {nil, nil, "", ""},
		"server's mark": {server(serverKey, "x"), map[string]string{serverKey: "x"}, "", "x"},
	} {
		user, server, is := HubPod(one.labels, one.annotations)
		if user != one.user || is != (one.user != "") || is && server != one.server {
			t.Errorf("%s: %q, %q, %v", name, user, server, is)
		}
	}
}

// TestOfUnit: a unit of SystemdSpawner names its user; a group that a user could make names nobody.
func TestOfUnit(t *testing.T) {
	for group, want := range map[string]string{
		"/system.slice/jupyter-ann-singleuser.service":                            "ann",
		"/system.slice/jupyter-ann-singleuser.service/a":                          "ann",
		"/jupyterhub.slice/jupyterhub-users.slice/jupyter-ann-singleuser.service": "ann",
		`/system.slice/jupyter-ann\x2bb@x.org-singleuser.service`:                 "ann+b@x.org",
		`/system.slice/jupyter-\xc3\xa9\x20e-singleuser.service`:                  "é e",
		// Users of these names, which the hub's spawner does not escape, are not ann.
		`/system.slice/jupyter-\x61nn-singleuser.service`:                                      `\x61nn`,
		`/system.slice/jupyter-ann\x40x.org-singleuser.service`:                                `ann\x40x.org`,
		`/system.slice/jupyter-ann\x2Bb-singleuser.service`:                                    `ann\x2Bb`,
		"/jupyter-ann-singleuser.service":                                                      "ann",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter-b-singleuser.service": "",
		"/user.slice/jupyter-bob-singleuser.service":                                           "",
		"/system.slice/x.service/jupyter-bob-singleuser.service":                               "",
		"/system.slice/jupyter-ann-singleuser.service/jupyter-bob-singleuser.service":          "ann",
		"/system.slice/docker-1.scope/system.slice/jupyter-bob-singleuser.service":             "",
		"/a/../system.slice/x.scope/jupyter-bob-singleuser.service":                            "",
		"/system.slice/jupyter-singleuser.service":                                             "",
		"/system.slice/jupyterhub.service":                                                     "",
		"":                                                                                     "", "/": "", "\x00": "",
	} {
		if user, is := HubUnit(group); user != want || is != (want != "") {
			t.Errorf("%q: %q, %v", group, user, is)
		}
	}
}

// TestKernelID: a kernel's id is that in the name of its connection file, wherever that stands, and nothing else.
func TestKernelID(t *testing.T) {
	const id = "0f3c2d1e-1a2b-4c3d-8e9f-001122334455"
	for command, want := range map[string]string{
		"python -m ipykernel_launcher -f /home/ann/.local/share/jupyter/runtime/kernel-" + id + ".json": id,
		"python -m ipykernel_launcher -f=/run/kernel-" + id + ".json":                                   id,
		"python -m x --f=kernel-" + strings.ToUpper(id) + ".json":                                       id,
		"python -m ipykernel_launcher -f /tmp/kernel-4242.json":                                         "",
		"python kernel-" + id + ".json.py":                                                              "",
		"":                                                                                              "",
	} {
		if got := KernelID(strings.Fields(command)); got != want {
			t.Errorf("%q: %q", command, got)
		}
	}
}

// TestPatterns: namespaces match by name and by shell patterns.
func TestPatterns(t *testing.T) {
	if p := Patterns(" hub team-* "); !p.Match("hub") || !p.Match("team-1") || p.Match("evil") || p.Bad() != "" {
		t.Error("hub team-*")
	}
	if !Patterns("").Match("any") || Patterns("[").Bad() == "" {
		t.Error("none, or a wrong one")
	}
}

// TestNastyClaims: names in an environment become labels of a bounded length, and no two the same.
func TestNastyClaims(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("é", 5000)
	for _, name := range []string{
		"ann", "ann\n", `ann\n`, "ann\x00", "ann\x01", "\xff", "\xfe", long, long + "x", strings.Repeat("a", 101),
		Label("ann\n"), Label(Label("ann\n")), "\u202eann", "\x1b[2Jann", "日本", " ",
	} {
		var c Claims
		HubClaims(map[string]string{"JUPYTERHUB_USER": name, "JUPYTERHUB_SERVER_NAME": name}, &c)
		if before, is := seen[c.HubUser]; is || len(c.HubUser) > MaxLabel || c.HubServer != c.HubUser {
			t.Errorf("%q: %q, as of %q", name, c.HubUser, before)
		}
		seen[c.HubUser] = name
	}
}

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

package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/agent/pods"
)

// TestConfig: a file may leave out any field, and keeps the others as they are by default.
func TestConfig(t *testing.T) {
	const text = "# the node\nversion: 1\nseries: 500\nkeep: 1h\nusers: false\nlisten: ':9464'\n" +
		"kubernetes:\n  enabled: true\n  node: n1\nhub_namespaces: hub team-*\n"
	c, err := ReadConfig(strings.NewReader(text), "a.yaml")
	want := DefaultConfig()
	want.Series, want.Keep, want.Users, want.Listen = 500, Duration(time.Hour), false, ":9464"
	want.Kubernetes, want.Hubs = pods.Config{Enabled: "true", Node: "n1"}, "hub team-*"
	if err != nil || c != want {
		t.Errorf("%+v, %v, want %+v", c, err, want)
	}
	if c, err := ReadConfig(strings.NewReader("version: 1"), "a.yaml"); err != nil || c != DefaultConfig() {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestNoVersion: a file without the version line is no configuration with defaults: one that is empty, cut, or of
// something else.
func TestNoVersion(t *testing.T) {
	const none = `a.yaml: it has no line "version: 1": it is empty, half written, or no configuration of the agent's`
	for _, text := range []string{"", "\n# nothing\n", "{}\n", "users: false\n", "version: 0\n", "---\n", "null\n"} {
		if _, err := ReadConfig(strings.NewReader(text), "a.yaml"); err == nil || err.Error() != none {
			t.Errorf("%q: %v", text, err)
		}
	}
	const other = "a.yaml:2: version: this agent reads version 1, and not 2"
	if _, err := ReadConfig(strings.NewReader("\nversion: 2\n"), "a.yaml"); err == nil || err.Error() != other {
		t.Errorf("%v", err)
	}
}

const notPushed = ": profiles are not pushed any more, pull: true lets an engine pull them"

// configMistakes are configurations with a mistake, and the sentence about each.
var configMistakes = map[string]string{
	"users: true\nkernels: 65\n": "a.yaml:2: kernels: 65 is not from 1 to 64",
	"series: 500\nserie: 7\n":    "a.yaml:2: field serie is no field of the configuration",
	"series: many\n":             "a.yaml:1: cannot unmarshal !!str `many` into int",
	"\nlook: 5 minutes\n":        `a.yaml:2: "5 minutes": must be a time such as 15s or 10m`,
	"look: [1s]\n":               `a.yaml:1: "": must be a time such as 15s or 10m`,
	"per_user: 0":                "a.yaml:1: per_user: 0 is not from 1 to 64",
	"keep: 5s\n":                 "a.yaml:1: keep: 5s is not from 1m0s to 24h0m0s",
	"series: 500\n\nlisten: nowhere\n": `a.yaml:3: listen: "nowhere": must be an address such as ` +
		`127.0.0.1:9464 or :9464`,
	"otlp:\n  endpoint: http://127.0.0.1:4318\n  queue: -1\n": "a.yaml:3: otlp: queue: -1 is not from 1 to 65536",
	"otlp: {endpoint: 'http://[::1]', protocol: x}":           `a.yaml:1: otlp: protocol: "x": must be http or grpc`,
	"users: true\notlp:\n  protocol: grpc\n": "a.yaml:2: otlp: endpoint: must be an address such as " +
		"https://otel.example.org:4318",
	"otlp:\n  token: secret\n": "a.yaml:2: field token is no field of this section",
	"kubernetes:\n  enabled: perhaps\n": `a.yaml:2: kubernetes.enabled: "perhaps": ` +
		`must be true, false or auto`,
	"kubernetes:\n  # this one\n  enabled: on\n  node: 'a b'\n": `a.yaml:4: kubernetes.node: ` +
		`"a b": must be the name of a node`,
	"kubernetes: {cri: x}\n": `a.yaml:1: kubernetes.cri: "x": must be the path of a socket such as ` +
		`/run/containerd/containerd.sock`,
	"kubernetes: {nodes: n1}\n":                   "a.yaml:1: field nodes is no field of this section",
	"hub_namespaces: '['\n":                       `a.yaml:1: hub_namespaces: "[": must be a pattern such as hub-*`,
	"look: 1s\ndeaths:\n  keep: 7h\n\nkeep: 5s\n": "a.yaml:5: keep: 5s is not from 1m0s to 24h0m0s",
	"keep: 1h\ndeaths:\n  folder: /x\n  # no\n  per_user: 0\n": "a.yaml:5: deaths.per_user: 0 is not " +
		"from 1 to 50",
	"series: 500\ndeaths: {folder: x}\nkeep: 1h\n": `a.yaml:2: deaths.folder: "x": must be ` +
		`an absolute path, without .. or a / at its end`,
	"deaths:\n  kep: 1h\n":                    "a.yaml:2: field kep is no field of this section",
	"users: true\nprofiles:\n  every: 1m\n":   "a.yaml:2: profiles: pull: it must be true: profiles are pulled",
	"users: true\nprofiles:\n  pull: false\n": "a.yaml:3: profiles: pull: it must be true: profiles are pulled",
	"profiles:\n  pull: true\n  every: 1s\n":  "a.yaml:3: profiles: every: 1s is not from 10s to 1h0m0s",
	"profiles:\n  url: http://u:secret@x\n":   "a.yaml:2: field url is no field of this section" + notPushed,
	"profiles: {pull: true, otlp: true}\n":    "a.yaml:1: field otlp is no field of this section" + notPushed,
	"profiles:\n  pull: true\n  headers_file: /x\n": "a.yaml:3: field headers_file is no field of this section" +
		notPushed,
	"profiles:\n  pull: true\n  often: 1s\n": "a.yaml:3: field often is no field of this section",
	"hub_page: {}\n": "a.yaml:1: hub_page: hubs: must have " +
		"from 1 to 16 entries",
	"hub_page:\n  cells: 99\n  hubs:\n  - token_file: /x\n": "a.yaml:2: hub_page: cells: 99 is not from 1 to 20",
	"hub_page:\n  hubs:\n  - {token_file: /x, machine: yes}\n": "a.yaml:3: field machine is no field of this " +
		"section",
	"hub_page:\n  hubs: [{namespaces: a}]\n": "a.yaml:2: hub_page: hubs: each hub needs a token_file",
	"users: true\n  kernels: 3\n":            "a.yaml:2: mapping values are not allowed in this context",
	"version: 1\n---\nkernels: 900\n":        "",
	strings.Repeat("# much\n", 200_000):      "a.yaml: it is larger than 1 MiB",
	"a: &a [x, x]\nb: &b [*a, *a]\nc: *b":    "a.yaml:1: field a is no field of the configuration",
}

// TestConfigMistakes: each mistake has its line and one sentence.
func TestConfigMistakes(t *testing.T) {
	for text, want := range configMistakes {
		if !strings.Contains(text, "---") {
			text += "\nversion: 1\n"
		}
		_, err := ReadConfig(strings.NewReader(text), "a.yaml")
		var mistake *ConfigError
		if want == "" && err == nil {
			continue
		}
		if !errors.As(err, &mistake) || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

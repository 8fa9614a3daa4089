package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"ipytracer/internal/host/process"
)

var update = flag.Bool("update", false, "write deploy/kubernetes/agent.yaml anew")

// deploy is the folder of what clusters take.
const deploy = "../../../../deploy"

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// read of a YAML file with one document.
func readYAML(t *testing.T, name string) (one map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, name), &one); err != nil {
		t.Fatal(name, err)
	}
	return one
}

const chart = "helm/ipytracer-agent/"

// rendered returns the manifests of the chart. It knows the few functions of Helm that the chart uses; `make
// test-fleet` compares with Helm itself.
func rendered(t *testing.T, release, namespace string, values map[string]any) (text string) {
	t.Helper()
	toYAML := func(v any) (string, error) {
		var out bytes.Buffer
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		err := e.Encode(v)
		return strings.TrimSuffix(out.String(), "\n"), err
	}
	functions := template.FuncMap{
		"toYaml": toYAML,
		"nindent": func(n int, s string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
		},
		"default": func(instead, v any) any {
			if v == nil || v == "" {
				return instead
			}
			return v
		},
		"dir": path.Dir,
	}
	about := readYAML(t, chart+"Chart.yaml")
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"AppVersion": about["appVersion"]},
		"Release": map[string]any{"Name": release, "Namespace": namespace},
	}
	for _, name := range []string{"rights", "config", "daemonset"} {
		one, err := template.New(name).Funcs(functions).Option("missingkey=error").
			Parse(string(read(t, chart+"templates/"+name+".yaml")))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := one.Execute(&out, data); err != nil {
			t.Fatal(err)
		}
		text += "---\n" + strings.TrimSpace(out.String()) + "\n"
	}
	return text
}

// objects returns the documents of a text, by kind.
func objects(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var one map[string]any
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		kind := fmt.Sprint(one["kind"])
		if _, twice := all[kind]; err != nil || twice {
			t.Fatalf("%s: %v", kind, err)
		}
		all[kind] = one
	}
}

// at returns what lies at a path in nested maps and lists.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

const namespaceYAML = `# Made of deploy/helm/ipytracer-agent: go test ./cmd/tracer/internal/agent -run Manifests -update
apiVersion: v1
kind: Namespace
metadata:
  name: ipytracer
  labels:
    # It sees the node's processes (hostPID), which the other levels forbid.
    pod-security.kubernetes.io/enforce: privileged
`

// TestManifests: the plain manifests are those of the chart with its own values.
func TestManifests(t *testing.T) {
	want := namespaceYAML + rendered(t, "ipytracer-agent", "ipytracer", readYAML(t, chart+"values.yaml"))
	name := "kubernetes/agent.yaml"
	if *update {
		if err := os.WriteFile(filepath.Join(deploy, name), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(read(t, name)) != want {
		t.Errorf("%s is not what the chart gives; go test ./cmd/tracer/internal/agent -run Manifests -update", name)
	}
	kinds := slices.Sorted(maps.Keys(objects(t, want)))
	if !slices.Equal(kinds, []string{"ClusterRole", "ClusterRoleBinding", "ConfigMap", "DaemonSet", "Namespace",
		"ServiceAccount"}) {
		t.Errorf("%v", kinds)
	}
}

// TestRightsOfDeployment: a pod has the capabilities that the agent asks for, a read-only root, no new privileges, and
// may read pods and nothing else of the cluster; the systemd unit has the same capabilities.
func TestRightsOfDeployment(t *testing.T) {
	all := objects(t, string(read(t, "kubernetes/agent.yaml")))
	pod := at(all["DaemonSet"], "spec", "template", "spec")
	one := at(pod, "containers", 0)
	var names []any
	for _, c := range process.Tracing {
		names = append(names, strings.TrimPrefix(c.String(), "CAP_"))
	}
	for _, c := range []struct{ got, want any }{
		{at(pod, "hostPID"), true},
		{at(pod, "hostNetwork"), nil},
		{at(pod, "volumes"), []any{
			map[string]any{"name": "cgroup", "hostPath": map[string]any{"path": "/sys/fs/cgroup", "type": "Directory"}},
			map[string]any{"name": "config", "configMap": map[string]any{"name": "ipytracer-agent"}}}},
		{at(pod, "securityContext", "seccompProfile", "type"), "RuntimeDefault"},
		{at(one, "securityContext", "privileged"), false},
		{at(one, "securityContext", "allowPrivilegeEscalation"), false},
		{at(one, "securityContext", "readOnlyRootFilesystem"), true},
		{at(one, "securityContext", "capabilities"), map[string]any{"drop": []any{"ALL"}, "add": names}},
		{at(one, "volumeMounts", 0, "readOnly"), true},
		{at(one, "volumeMounts", 1, "readOnly"), true},
		{at(one, "resources", "limits", "memory"), "256Mi"},
		{at(one, "env", 0, "valueFrom", "fieldRef", "fieldPath"), "spec.nodeName"},
		{at(all["ClusterRole"], "rules"), []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"},
			"verbs": []any{"get", "list", "watch"}}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%v, not %v", c.got, c.want)
		}
	}
	var unit []string
	for _, c := range process.Tracing {
		unit = append(unit, c.String())
	}
	service, err := os.ReadFile(filepath.Join(deploy, "../scripts/packaging/ipytracer-agent.service"))
	for _, set := range []string{"CapabilityBoundingSet", "AmbientCapabilities"} {
		if err != nil || !strings.Contains(string(service), "\n"+set+"="+strings.Join(unit, " ")+"\n") {
			t.Errorf("the unit has no %s of %v: %v", set, unit, err)
		}
	}
}

// TestRuntimeOfDeployment: a pod sees the folder of the container runtime's socket where the configuration names one.
func TestRuntimeOfDeployment(t *testing.T) {
	values := readYAML(t, chart+"values.yaml")
	values["config"].(map[string]any)["kubernetes"] = map[string]any{"cri": "/run/containerd/containerd.sock"}
	pod := at(objects(t, rendered(t, "x", "y", values))["DaemonSet"], "spec", "template", "spec")
	mount, volume := at(pod, "containers", 0, "volumeMounts", 2), at(pod, "volumes", 2)
	if at(mount, "mountPath") != "/run/containerd" || at(mount, "readOnly") != true ||
		at(volume, "hostPath", "path") != "/run/containerd" || at(mount, "name") != at(volume, "name") {
		t.Errorf("%v, %v", mount, volume)
	}
}

// TestReportsOfDeployment: reports of deaths have a folder that outlives the agent, and a socket that users reach: in
// the unit always, in a pod where the values ask for it. A pod may write to nothing else.
func TestReportsOfDeployment(t *testing.T) {
	c := DefaultConfig().Deaths
	folder, socket := filepath.Dir(c.Folder), filepath.Dir(c.Socket)
	service, err := os.ReadFile(filepath.Join(deploy, "../scripts/packaging/ipytracer-agent.service"))
	for _, line := range []string{
		"StateDirectory=" + strings.TrimPrefix(folder, "/var/lib/"), "StateDirectoryMode=0700",
		"RuntimeDirectory=" + strings.TrimPrefix(socket, "/run/"), "RuntimeDirectoryMode=0755",
	} {
		if err != nil || !strings.Contains(string(service), "\n"+line+"\n") {
			t.Errorf("the unit has no %s: %v", line, err)
		}
	}
	values := readYAML(t, chart+"values.yaml")
	values["reports"] = true
	pod := at(objects(t, rendered(t, "x", "y", values))["DaemonSet"], "spec", "template", "spec")
	var writable []string
	for i := 0; at(pod, "containers", 0, "volumeMounts", i) != nil; i++ {
		mount := at(pod, "containers", 0, "volumeMounts", i)
		if at(mount, "readOnly") != true {
			writable = append(writable, fmt.Sprint(at(mount, "name"), " at ", at(mount, "mountPath")))
		}
	}
	if !slices.Equal(writable, []string{"reports at " + folder, "socket at " + socket}) {
		t.Errorf("it may write to %q", writable)
	}
	for i, path := range []string{folder, socket} {
		volume := at(pod, "volumes", i+2)
		if at(volume, "hostPath", "path") != path || at(volume, "hostPath", "type") != "DirectoryOrCreate" {
			t.Errorf("%v is not %s of the node", volume, path)
		}
	}
}

// TestConfigOfDeployment: the agent reads the configuration that the chart makes, and answers at the port of the
// probes.
func TestConfigOfDeployment(t *testing.T) {
	all := objects(t, string(read(t, "kubernetes/agent.yaml")))
	text, _ := at(all["ConfigMap"], "data", "agent.yaml").(string)
	c, err := ReadConfig(strings.NewReader(text), "agent.yaml")
	port := at(all["DaemonSet"], "spec", "template", "spec", "containers", 0, "ports", 0, "containerPort")
	health := at(all["DaemonSet"], "spec", "template", "spec", "containers", 0, "ports", 1, "containerPort")
	if err != nil || c.Listen != fmt.Sprintf(":%v", port) || c.Health != fmt.Sprintf(":%v", health) {
		t.Errorf("%v, %q at port %v\n%s", err, c.Listen, port, text)
	}
	defaults := DefaultConfig()
	defaults.Listen, defaults.Health = c.Listen, c.Health
	for probe, path := range map[string]string{
		"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz",
	} {
		one := at(all["DaemonSet"], "spec", "template", "spec", "containers", 0, probe, "httpGet")
		if at(one, "port") != "health" || at(one, "path") != path {
			t.Errorf("%s asks at %v", probe, one)
		}
	}
	if !reflect.DeepEqual(c, defaults) {
		t.Errorf("other values than the agent's own: %+v", c)
	}
}

// TestSchemaOfTheChartsValues: the schema takes the chart's values, and refuses mistakes; other values change the
// manifests.
func TestSchemaOfTheChartsValues(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, chart+"values.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.json", document); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("values.json")
	with := func(key string, value any) error {
		values := readYAML(t, chart+"values.yaml")
		if key != "" {
			values[key] = value
		}
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		one, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(one)
	}
	if err := with("", nil); err != nil {
		t.Error(err)
	}
	for key, value := range map[string]any{
		"port": 80, "prot": 9464, "rbac": "yes", "reports": "/tmp", "config": map[string]any{"listen": ":1"},
		"image": map[string]any{"tag": "x"}, "tolerations": map[string]any{},
		"hubs": []any{map[string]any{"secret": "a"}},
	} {
		if with(key, value) == nil {
			t.Errorf("%s: %v is not refused", key, value)
		}
	}
	values := readYAML(t, chart+"values.yaml")
	values["rbac"], values["annotations"], values["port"] = false, false, 1234
	values["imagePullSecrets"] = []any{"a"}
	all := objects(t, rendered(t, "x", "y", values))
	pod := at(all["DaemonSet"], "spec", "template", "spec")
	if len(all) != 3 || at(pod, "automountServiceAccountToken") != false ||
		at(pod, "imagePullSecrets", 0, "name") != "a" ||
		at(pod, "containers", 0, "ports", 0, "containerPort") != 1234 ||
		at(all["DaemonSet"], "metadata", "name") != "x" ||
		at(all["DaemonSet"], "spec", "template", "metadata", "annotations") != nil {
		t.Errorf("%v", all)
	}
}

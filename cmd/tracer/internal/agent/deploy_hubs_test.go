package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/users"
)

// TestSocketsOfDeployment: systemd listens at the addresses at which the agent answers, and the unit starts with and
// without them, is never given up, and may ask who connects.
func TestSocketsOfDeployment(t *testing.T) {
	packaged := func(name string) string {
		text, err := os.ReadFile(filepath.Join(deploy, "../scripts/packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, lines := range map[string][]string{
		"ipytracer-agent.socket": {"ListenStream=" + DefaultConfig().Listen, "TriggerLimitIntervalSec=0"},
		"ipytracer-agent-hub.socket": {"ListenStream=" + users.DefaultSocket, "SocketMode=0600",
			"Service=ipytracer-agent.service", "TriggerLimitIntervalSec=0"},
		"ipytracer-agent.service": {"Wants=ipytracer-agent.socket ipytracer-agent-hub.socket",
			"StartLimitIntervalSec=0", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"},
	} {
		text := packaged(name)
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("%s has no %s", name, line)
			}
		}
		if strings.Contains(text, "RestartPreventExitStatus") {
			t.Errorf("%s stays down", name)
		}
	}
}

// TestHubsOfDeployment: with hubs, the agent reads their tokens from the secrets that the pod has, whose files nobody
// else may read, and a headless Service has the agents' port and pods.
func TestHubsOfDeployment(t *testing.T) {
	values := readYAML(t, chart+"values.yaml")
	values["hubs"] = []any{map[string]any{"secret": "a", "namespaces": "jhub"},
		map[string]any{"secret": "b-2", "namespaces": "team-* other"}}
	all := objects(t, rendered(t, "x", "y", values))
	text, _ := at(all["ConfigMap"], "data", "agent.yaml").(string)
	c, err := ReadConfig(strings.NewReader(text), "agent.yaml")
	if err != nil || c.HubPage == nil || len(c.HubPage.Hubs) != 2 ||
		c.HubPage.Hubs[1].Namespaces != "team-* other" {
		t.Fatalf("%v, %+v\n%s", err, c.HubPage, text)
	}
	pod := at(all["DaemonSet"], "spec", "template", "spec")
	for i, h := range c.HubPage.Hubs {
		mount, volume := at(pod, "containers", 0, "volumeMounts", i+2), at(pod, "volumes", i+2)
		if at(mount, "name") != at(volume, "name") || at(mount, "readOnly") != true ||
			fmt.Sprint(at(mount, "mountPath"), "/token") != h.TokenFile ||
			at(volume, "secret", "defaultMode") != 0o400 {
			t.Errorf("%v, %v, %s", mount, volume, h.TokenFile)
		}
	}
	service := at(all["Service"], "spec")
	labels := at(all["DaemonSet"], "spec", "template", "metadata", "labels")
	if at(service, "clusterIP") != "None" || !reflect.DeepEqual(at(service, "selector"), labels) ||
		at(service, "ports", 0, "port") != at(pod, "containers", 0, "ports", 2, "containerPort") ||
		c.HubPage.Listen != fmt.Sprintf(":%v", at(service, "ports", 0, "port")) || c.HubPage.SocketPath() != "" {
		t.Errorf("%v", service)
	}
}

package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// exposed returns the metrics that an agent can show, with the labels of each: those of its registry, and those that
// every scrape has.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	m := metricsWith(t, func(*Config) {})
	all := map[string][]string{"up": {"instance", "job"}}
	descs := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(descs)
	collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}).Describe(descs)
	close(descs)
	form := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for d := range descs {
		parts := form.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("%v", d)
		}
		all[parts[1]] = append([]string{"instance", "job"}, strings.FieldsFunc(parts[2], func(r rune) bool {
			return r == ',' || r == ' '
		})...)
	}
	return all
}

// foreign are the metrics of others that a rule may use.
var foreign = map[string][]string{
	"DCGM_FI_DEV_FB_USED": {"gpu", "Hostname"}, "DCGM_FI_DEV_FB_FREE": {"gpu", "Hostname"},
}

var (
	stringsOfPromQL = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	namesOfPromQL   = regexp.MustCompile(`[A-Za-z_:][A-Za-z0-9_:]*`)
	wordsOfPromQL   = strings.Fields(`by without on ignoring group_left group_right offset and or unless bool sum count
		max min avg topk clamp_min rate increase histogram_quantile histogram_sum histogram_count m h s
		__rate_interval`)
)

// unknownIn returns the names in a query that are neither a metric with its labels nor words of the language.
func unknownIn(query string, metrics map[string][]string) (unknown, used []string) {
	query = stringsOfPromQL.ReplaceAllString(query, "")
	var labels []string
	for _, name := range namesOfPromQL.FindAllString(query, -1) {
		if of, is := metrics[name]; is {
			used = append(used, name)
			labels = append(labels, of...)
		}
	}
	for _, name := range namesOfPromQL.FindAllString(query, -1) {
		if !slices.Contains(used, name) && !slices.Contains(labels, name) && !slices.Contains(wordsOfPromQL, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown, used
}

// queriesOf returns the texts of all fields with a name, at any depth.
func queriesOf(v any, field string) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, is := v[key].(string); is && key == field {
				all = append(all, text)
			}
			all = append(all, queriesOf(v[key], field)...)
		}
	case []any:
		for _, one := range v {
			all = append(all, queriesOf(one, field)...)
		}
	}
	return all
}

// TestDashboard: every metric and label in a panel, in a variable and in a rule of an alert is one that the agent
// shows.
func TestDashboard(t *testing.T) {
	metrics := exposed(t)
	var dashboard map[string]any
	if err := json.Unmarshal(read(t, "grafana/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	panels := queriesOf(dashboard, "expr")
	rules := queriesOf(readYAML(t, "prometheus/rules.yaml"), "expr")
	variables := queriesOf(dashboard, "definition")
	if len(panels) < 20 || len(rules) < 5 || len(variables) != 3 {
		t.Fatalf("%d panels, %d rules, %d variables", len(panels), len(rules), len(variables))
	}
	for _, query := range append(panels, variables...) {
		unknown, used := unknownIn(strings.TrimPrefix(query, "label_values"), metrics)
		if len(unknown) > 0 || len(used) == 0 {
			t.Errorf("%s: %q is nothing that the agent shows", query, unknown)
		}
	}
	withForeign := maps.Clone(metrics)
	maps.Copy(withForeign, foreign)
	for _, query := range rules {
		if unknown, used := unknownIn(query, withForeign); len(unknown) > 0 || len(used) == 0 {
			t.Errorf("%s: %q is nothing that the agent shows", query, unknown)
		}
	}
	for _, wrong := range []string{"ipytracer_kernel_residnet_bytes", "sum by (usr) (ipytracer_kernels)",
		"ipytracer_kernels{user=\"a\"}"} {
		if unknown, _ := unknownIn(wrong, metrics); len(unknown) == 0 {
			t.Errorf("nothing is wrong with %s", wrong)
		}
	}
}

// TestDashboardForm: panels have an id each, do not lie over each other, and ask the data source that is chosen.
func TestDashboardForm(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID         int
			Title      string
			Type       string
			Datasource struct{ UID string }
			GridPos    struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(read(t, "grafana/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := places[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("%q lies over %q", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestDashboardPage: docs/agent-dashboard.md has each panel with its description, and a picture that is there or a word
// that there is none.
func TestDashboardPage(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID                       int
			Title, Type, Description string
		}
	}
	if err := json.Unmarshal(read(t, "grafana/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	page := string(read(t, "../docs/agent-dashboard.md"))
	flat := strings.Join(strings.Fields(page), " ")
	for _, p := range dashboard.Panels {
		if p.Type == "row" {
			if !strings.Contains(page, "\n## "+p.Title+"\n") {
				t.Errorf("no heading %s", p.Title)
			}
			continue
		}
		picture := fmt.Sprintf("![%s](pictures/agent/panel-%02d.png)", p.Title, p.ID)
		text := strings.Join(strings.Fields(fmt.Sprintf("**%s.** %s", p.Title, p.Description)), " ")
		if !strings.Contains(flat, text+" "+picture) && !strings.Contains(flat, text+" (No picture") {
			t.Errorf("no %q with its picture", text)
		}
	}
}

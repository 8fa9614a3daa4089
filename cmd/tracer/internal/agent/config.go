package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/agent/users"
	"ipytracer/internal/ledger"
)

// Config is the configuration of an agent. Fields have their YAML names; a file may leave out any of them.
type Config struct {
	// Version is [ConfigVersion] in each file: a file without it is refused, as it may be empty or half written.
	Version int `yaml:"version"`
	// Listen is the address of /metrics and /healthz. It is read at the start only.
	Listen string `yaml:"listen"`
	// Health is a further address for /healthz and /readyz; "" for none. It is read at the start only.
	Health string `yaml:"health"`
	// Budget is the share of a kernel's time that its probes may cost: 3%, 0.03 or off. It is read at the start only.
	Budget string `yaml:"budget"`
	// Refresh is the greatest age of the figures of an idle kernel. It is read at the start only.
	Refresh Duration `yaml:"refresh"`
	// Look is the interval of looks for new kernels.
	Look Duration `yaml:"look"`
	// Kernels is the most kernels that are traced at a time.
	Kernels int `yaml:"kernels"`
	// PerUser is the most kernels of one user that are traced at a time.
	PerUser int `yaml:"per_user"`
	// Series is the most time series of kernels and users. Beyond it, labels are folded into "other".
	Series int `yaml:"series"`
	// Keep is how long the counters of users and pods stay after their last cell.
	Keep Duration `yaml:"keep"`
	// Users lets series have the names of users.
	Users bool `yaml:"users"`
	// Deaths is about the reports of kernels that were killed.
	Deaths deaths.Config `yaml:"deaths"`
	// Dask is about the workers of Dask.
	Dask TasksConfig `yaml:"dask"`
	// OTLP is the receiver of spans; nil for none. It is read at the start only.
	OTLP *engines.Spans `yaml:"otlp"`
	// Kubernetes says where names of pods come from. It is read at the start only.
	Kubernetes pods.Config `yaml:"kubernetes"`
	// Hubs are the namespaces in which JupyterHub's labels of pods are trusted.
	Hubs telemetry.Patterns `yaml:"hub_namespaces"`
	// Profiles are the profiles that are made; nil for none. It is read at the start only.
	Profiles *engines.Profiles `yaml:"profiles"`
	// HubPage says which JupyterHubs may ask what their users have; nil for none. It is read at the start only.
	HubPage *users.Config `yaml:"hub_page"`
}

// ConfigVersion is the version of configurations that this agent reads.
const ConfigVersion = 1

// Duration is a [time.Duration] in YAML: 15s, 10m.
type Duration time.Duration

// UnmarshalYAML implements [yaml.Unmarshaler].
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	long, err := time.ParseDuration(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return &yaml.TypeError{Errors: []string{
			fmt.Sprintf("line %d: %q: must be a time such as 15s or 10m", n.Line, n.Value),
		}}
	}
	*d = Duration(long)
	return nil
}

// String returns the duration as a configuration has it.
func (d Duration) String() string { return time.Duration(d).String() }

// DefaultConfig returns the configuration that is in force without a file.
func DefaultConfig() Config {
	return Config{
		Version: ConfigVersion, Listen: telemetry.DefaultListen,
		Budget: "3%", Refresh: Duration(15 * time.Second), Look: Duration(time.Second),
		Kernels: ledger.MaxRoots, PerUser: 16, Series: 10_000, Keep: Duration(15 * time.Minute), Users: true,
		Kubernetes: pods.Config{Enabled: pods.Auto}, Deaths: deaths.DefaultConfig(),
		Dask: defaultTasks(),
	}
}

// ConfigError is a mistake in a configuration file.
type ConfigError struct {
	File string
	Line int // from 1; 0 if the mistake is of no line
	Text string
}

// Error returns a sentence that begins with FILE:LINE.
func (e *ConfigError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// maxConfig is the greatest size of a configuration file, in bytes.
const maxConfig = 1 << 20

// ReadConfig reads a configuration from a file with the given name. Its error is a [ConfigError]. A file without a line
// "version: 1" is an error, too.
func ReadConfig(f io.Reader, name string) (Config, error) {
	c := DefaultConfig()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return c, &ConfigError{name, 0, err.Error()}
	}
	if len(raw) > maxConfig {
		return c, &ConfigError{name, 0, "it is larger than 1 MiB"}
	}
	if line, err := c.parse(raw); err != nil {
		return c, &ConfigError{name, line, err.Error()}
	}
	return c, nil
}

// parse reads a configuration. line is the line of the error, 0 if that is unknown.
func (c *Config) parse(raw []byte) (line int, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	c.Version = 0
	if err := decoder.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return placedError(err)
	}
	switch {
	case c.Version == 0:
		return 0, errNoVersion
	case c.Version != ConfigVersion:
		return lineOf(raw, "version"), fmt.Errorf("version: this agent reads version %d, and not %d", ConfigVersion,
			c.Version)
	}
	if key, err := c.check(); err != nil {
		return lineOf(raw, key), err
	}
	return 0, nil
}

// placedError takes the line, 0 if there is none, out of the decoder's error "yaml: line 3: …". Of several errors it
// takes the first.
func placedError(err error) (line int, cleaned error) {
	var several *yaml.TypeError
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if errors.As(err, &several) && len(several.Errors) > 0 {
		text = several.Errors[0]
	}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, rest, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, text = n, rest
			}
		}
	}
	if field, section, ok := strings.Cut(text, " not found in type "); ok {
		text = field + " is no field of the configuration"
		if section != "agent.Config" {
			text = field + " is no field of this section"
		}
		name := strings.TrimPrefix(field, "field ")
		if section == "engines.Profiles" && slices.Contains(engines.PushedFields, name) {
			text += ": profiles are not pushed any more, pull: true lets an engine pull them"
		}
	}
	return line, errors.New(strings.TrimSuffix(text, "\n"))
}

// lineOf returns the line of a field, 0 if it is not in the text. The key of a section's field is such as
// otlp.endpoint. If the section lacks the field, lineOf returns the section's line.
func lineOf(raw []byte, key string) (line int) {
	var document yaml.Node
	if yaml.Unmarshal(raw, &document) != nil || len(document.Content) == 0 {
		return 0
	}
	at := document.Content[0]
	for name := range strings.SplitSeq(key, ".") {
		found, value := fieldOf(at, name)
		if value == nil {
			return line
		}
		line, at = found, value
	}
	return line
}

// fieldOf returns the line and the value of a field of a section, 0 and nil if it is not there.
func fieldOf(section *yaml.Node, name string) (line int, value *yaml.Node) {
	for i := 0; section.Kind == yaml.MappingNode && i+1 < len(section.Content); i += 2 {
		if section.Content[i].Value == name {
			return section.Content[i].Line, section.Content[i+1]
		}
	}
	return 0, nil
}

var errNoVersion = fmt.Errorf(
	`it has no line "version: %d": it is empty, half written, or no configuration of the agent's`, ConfigVersion)

// check returns the key of the first field with a value out of range, and what is wrong with it.
func (c *Config) check() (key string, err error) {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return "listen", fmt.Errorf("listen: %q: must be an address such as 127.0.0.1:9464 or :9464", c.Listen)
	}
	if _, _, err := net.SplitHostPort(c.Health); c.Health != "" && err != nil {
		return "health", fmt.Errorf("health: %q: must be an address such as :9465", c.Health)
	}
	const second, minute, hour = Duration(time.Second), Duration(time.Minute), Duration(time.Hour)
	for _, field := range []struct {
		key string
		err error
	}{
		{"kernels", telemetry.InRange(c.Kernels, 1, ledger.MaxRoots)},
		{"per_user", telemetry.InRange(c.PerUser, 1, ledger.MaxRoots)},
		{"series", telemetry.InRange(c.Series, 100, 1_000_000)},
		{"refresh", telemetry.InRange(c.Refresh, second, hour)},
		{"look", telemetry.InRange(c.Look, second/10, hour)},
		{"keep", telemetry.InRange(c.Keep, minute, 24*hour)},
	} {
		if field.err != nil {
			return field.key, fmt.Errorf("%s: %w", field.key, field.err)
		}
	}
	if badPattern := c.Hubs.Bad(); badPattern != "" {
		return "hub_namespaces", fmt.Errorf("hub_namespaces: %s: must be a pattern such as hub-*", badPattern)
	}
	return c.checkSections()
}

// checkSections is [Config.check] for the fields of sections.
func (c *Config) checkSections() (key string, err error) {
	for _, s := range []struct {
		name, separator string // before the field in a message
		isThere         bool
		section         interface {
			Check() (field string, err error)
		}
	}{
		{"kubernetes", ".", true, &c.Kubernetes},
		{"otlp", ": ", c.OTLP != nil, c.OTLP},
		{"dask", ".", true, &c.Dask},
		{"profiles", ": ", c.Profiles != nil, c.Profiles},
		{"hub_page", ": ", c.HubPage != nil, c.HubPage},
		{"deaths", ".", true, &c.Deaths},
	} {
		if !s.isThere {
			continue
		}
		if field, err := s.section.Check(); err != nil {
			return s.name + "." + field, fmt.Errorf("%s%s%s: %w", s.name, s.separator, field, err)
		}
	}
	return "", nil
}

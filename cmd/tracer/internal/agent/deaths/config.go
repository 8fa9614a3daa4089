package deaths

import (
	"fmt"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"path/filepath"
	"time"
)

// Config is the section deaths of an agent's configuration.
type Config struct {
	// Folder is the folder for the reports; "" for none. It is read at the start only.
	Folder string `yaml:"folder"`
	// Socket is the path of the socket at which users ask for their reports; "" for none. It is read at the start only.
	Socket string `yaml:"socket"`
	// Keep is how long a report is kept.
	Keep time.Duration `yaml:"keep"`
	// PerUser is the most reports that are kept of one account.
	PerUser int `yaml:"per_user"`
	// InAll is the most reports that are kept.
	InAll int `yaml:"in_all"`
	// Off makes no reports. It is read at the start only.
	Off bool `yaml:"off"`
}

// DefaultConfig returns the section that is in force without a file.
func DefaultConfig() Config {
	return Config{
		Folder: "/var/lib/ipytracer-agent/deaths", Socket: DefaultSocket,
		Keep: 7 * 24 * time.Hour, PerUser: 20, InAll: 1000,
	}
}

// DefaultSocket is where users ask for their reports, unless the configuration has another place.
const DefaultSocket = "/run/ipytracer-agent/deaths.sock"

// Check returns the first field with a value out of range, and why.
func (c *Config) Check() (key string, err error) {
	for _, field := range []struct{ key, path string }{{"folder", c.Folder}, {"socket", c.Socket}} {
		if field.path == "" {
			continue
		}
		if !filepath.IsAbs(field.path) || filepath.Clean(field.path) != field.path || field.path == "/" {
			return field.key, fmt.Errorf("%q: must be an absolute path, without .. or a / at its end", field.path)
		}
	}
	if c.Keep < time.Minute || c.Keep > 366*24*time.Hour {
		return "keep", fmt.Errorf("%v is not from 1m to 8784h", c.Keep)
	}
	if err := telemetry.InRange(c.PerUser, 1, maxPerUser); err != nil {
		return "per_user", err
	}
	if c.InAll < c.PerUser || c.InAll > maxInAll {
		return "in_all", fmt.Errorf("%d is not from per_user (%d) to %d", c.InAll, c.PerUser, maxInAll)
	}
	return "", nil
}

// Bounds of the numbers of reports.
const (
	maxPerUser = 50 // so many fit into one answer
	maxInAll   = 10_000
)

package users

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// Config is the section hub_page of an agent's configuration. It is read at the start only.
type Config struct {
	// Hubs are the JupyterHubs that may ask. Each has a token of its own.
	Hubs []Hub `yaml:"hubs"`
	// Socket is the Unix socket at which hubs on this machine ask: "" for [DefaultSocket], [Off] for none.
	Socket string `yaml:"socket"`
	// Users are the users, by name or number, who may connect to Socket beside root and the agent's user.
	Users []string `yaml:"users"`
	// Listen is the address at which hubs on other machines ask; "" for none. These hubs prove that they have the
	// token.
	Listen string `yaml:"listen"`
	// Addresses are further addresses HOST:PORT at which hubs reach Listen, such as a proxy's.
	Addresses []string `yaml:"addresses"`
	// Keep is the least time for which cells are kept; they are kept for twice that at most. 0: [defaultKeep].
	Keep time.Duration `yaml:"keep"`
	// Cells is how many of a user's heaviest cells are kept. 0: [defaultCells].
	Cells int `yaml:"cells"`
}

// Hub is a JupyterHub that may ask about its users.
type Hub struct {
	// TokenFile is a file with the token, which others must not be able to read.
	TokenFile string `yaml:"token_file"`
	// Namespaces are the namespaces of the hub's pods; "": all in which JupyterHub's names are trusted.
	Namespaces telemetry.Patterns `yaml:"namespaces"`
	// MachineUsers says that the hub's users are users of this machine with the same names, as with
	// LocalProcessSpawner.
	MachineUsers bool `yaml:"machine_users"`
}

// DefaultSocket is the default of [Config.Socket], in a folder that only root can make.
const DefaultSocket = "/run/ipytracer-hub/agent.sock"

// Off is the value of [Config.Socket] for no socket.
const Off = "off"

// Values of fields that are left out.
const (
	defaultKeep  = 24 * time.Hour
	defaultCells = 10
)

// Bounds of the configuration.
const (
	maxHubs  = 16
	maxCells = 20
	minKeep  = time.Minute
	maxKeep  = 30 * 24 * time.Hour
)

// SocketPath returns the path of the socket, "" for none.
func (c *Config) SocketPath() string {
	if c.Socket == Off {
		return ""
	}
	return cmp.Or(c.Socket, DefaultSocket)
}

// userIDs returns the user IDs of [Config.Users].
func (c *Config) userIDs() (ids []uint32, err error) {
	for _, name := range c.Users {
		id := name
		if u, err := user.Lookup(name); err == nil {
			id = u.Uid
		}
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no user of this machine", name)
		}
		ids = append(ids, uint32(n))
	}
	return ids, nil
}

// Admits returns a function that reports whether a user may connect to the socket; nil if the socket's mode decides.
func (c *Config) Admits() func(uid uint32) bool {
	allowed, err := c.userIDs()
	if err != nil || len(allowed) == 0 {
		return nil
	}
	own := uint32(os.Geteuid())
	return func(uid uint32) bool { return uid == 0 || uid == own || slices.Contains(allowed, uid) }
}

func (c *Config) keep() time.Duration { return cmp.Or(c.Keep, defaultKeep) }
func (c *Config) cells() int          { return cmp.Or(c.Cells, defaultCells) }

// Check returns the first field with a wrong value, and what is wrong with it.
func (c *Config) Check() (field string, err error) {
	if n := len(c.Hubs); n < 1 || n > maxHubs {
		return "hubs", fmt.Errorf("must have from 1 to %d entries", maxHubs)
	}
	for _, h := range c.Hubs {
		switch bad := h.Namespaces.Bad(); {
		case h.TokenFile == "":
			return "hubs", fmt.Errorf("each hub needs a token_file")
		case bad != "":
			return "hubs", fmt.Errorf("namespaces: %s: must be a pattern such as hub-*", bad)
		case len(c.Hubs) > 1 && h.Namespaces == "" && !h.MachineUsers:
			return "hubs", fmt.Errorf(
				"each of several hubs needs namespaces, because two hubs may have users of the same name")
		}
	}
	if path := c.SocketPath(); path != "" && (!filepath.IsAbs(path) || filepath.Clean(path) != path) {
		return "socket", fmt.Errorf("%q: must be an absolute path or %s", path, Off)
	}
	if _, err := c.userIDs(); err != nil {
		return "users", err
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			return "listen", fmt.Errorf("%q: must be an address such as :9466", c.Listen)
		}
	}
	for _, at := range c.Addresses {
		if _, _, err := net.SplitHostPort(at); err != nil || strings.ContainsAny(at, " \n") {
			return "addresses", fmt.Errorf("%q: must be an address such as agent.example.org:443", at)
		}
	}
	if err := telemetry.InRange(c.keep(), minKeep, maxKeep); err != nil {
		return "keep", err
	}
	return "cells", telemetry.InRange(c.cells(), 1, maxCells)
}

// maySee reports whether a hub may ask about a person. several: the configuration has several hubs, so that a hub
// without namespaces has no pods.
func (h *Hub) maySee(p person, several bool) bool {
	if p.namespace == "" && h.MachineUsers {
		return true
	}
	hasPods := h.Namespaces != "" || !several
	return !p.machine && hasPods && h.Namespaces.Match(p.namespace)
}

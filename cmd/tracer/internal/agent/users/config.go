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
	// Users are those who may connect to it beside root and the agent's own, by name or number.
	Users []string `yaml:"users"`
	// Listen is the address at which hubs on other machines ask; "" for none. They prove that they have the token.
	Listen string `yaml:"listen"`
	// Addresses are those by which hubs reach Listen through something in between, as HOST:PORT.
	Addresses []string `yaml:"addresses"`
	// Keep is how long cells are kept at least; at most it is twice as long. 0: [defaultKeep].
	Keep time.Duration `yaml:"keep"`
	// Cells is how many of a user's heaviest cells are kept. 0: [defaultCells].
	Cells int `yaml:"cells"`
}

// Hub is a JupyterHub that may ask for what its users have.
type Hub struct {
	// TokenFile is a file with the token, which others must not be able to read.
	TokenFile string `yaml:"token_file"`
	// Namespaces are those of the hub's pods. None: all in which JupyterHub's names are trusted.
	Namespaces telemetry.Patterns `yaml:"namespaces"`
	// MachineUsers: the hub's users are users of this machine, with the same names, as with LocalProcessSpawner.
	MachineUsers bool `yaml:"machine_users"`
}

// DefaultSocket is the socket at which hubs ask, in a folder that root alone can make.
const DefaultSocket = "/run/ipytracer-hub/agent.sock"

// Off is the socket of an agent that hubs on this machine do not ask.
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

// userIDs returns the numbers of [Config.Users].
func (c *Config) userIDs() (all []uint32, err error) {
	for _, name := range c.Users {
		id := name
		if u, err := user.Lookup(name); err == nil {
			id = u.Uid
		}
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no user of this machine", name)
		}
		all = append(all, uint32(n))
	}
	return all, nil
}

// Admits returns a function that reports whether a user may connect to the socket; nil where its mode says so.
func (c *Config) Admits() func(uid uint32) bool {
	also, err := c.userIDs()
	if err != nil || len(also) == 0 {
		return nil
	}
	own := uint32(os.Geteuid())
	return func(uid uint32) bool { return uid == 0 || uid == own || slices.Contains(also, uid) }
}

func (c *Config) keep() time.Duration { return cmp.Or(c.Keep, defaultKeep) }
func (c *Config) cells() int          { return cmp.Or(c.Cells, defaultCells) }

// Check returns the first field with a wrong value, and why.
func (c *Config) Check() (field string, err error) {
	if n := len(c.Hubs); n < 1 || n > maxHubs {
		return "hubs", fmt.Errorf("it needs from 1 to %d of them", maxHubs)
	}
	for _, h := range c.Hubs {
		switch bad := h.Namespaces.Bad(); {
		case h.TokenFile == "":
			return "hubs", fmt.Errorf("each needs a token_file")
		case bad != "":
			return "hubs", fmt.Errorf("namespaces: %s is no pattern such as hub-*", bad)
		case len(c.Hubs) > 1 && h.Namespaces == "" && !h.MachineUsers:
			return "hubs", fmt.Errorf("of several, each needs its namespaces: two may have users of one name")
		}
	}
	if path := c.SocketPath(); path != "" && (!filepath.IsAbs(path) || filepath.Clean(path) != path) {
		return "socket", fmt.Errorf("%q is neither an absolute path nor %s", path, Off)
	}
	if _, err := c.userIDs(); err != nil {
		return "users", err
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			return "listen", fmt.Errorf("%q is not an address such as :9466", c.Listen)
		}
	}
	for _, at := range c.Addresses {
		if _, _, err := net.SplitHostPort(at); err != nil || strings.ContainsAny(at, " \n") {
			return "addresses", fmt.Errorf("%q is not an address such as agent.example.org:443", at)
		}
	}
	if err := telemetry.InRange(c.keep(), minKeep, maxKeep); err != nil {
		return "keep", err
	}
	return "cells", telemetry.InRange(c.cells(), 1, maxCells)
}

// sees reports whether a hub may ask about somebody.
func (h *Hub) sees(p person, several bool) bool {
	if p.namespace == "" && h.MachineUsers {
		return true
	}
	return !p.machine && (h.Namespaces != "" || !several) && h.Namespaces.Match(p.namespace)
}

package users

import (
	"cmp"
	"fmt"
	"time"

	"ipytracer/cmd/tracer/internal/agent/hub"
)

// Config is the section hub_page of an agent's configuration. It is read at the start only.
type Config struct {
	// Hubs are the JupyterHubs that may ask. Each has a token of its own.
	Hubs []Hub `yaml:"hubs"`
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
	Namespaces hub.Patterns `yaml:"namespaces"`
	// MachineUsers: the hub's users are users of this machine, with the same names, as with LocalProcessSpawner.
	MachineUsers bool `yaml:"machine_users"`
}

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

func (c *Config) keep() time.Duration { return cmp.Or(c.Keep, defaultKeep) }
func (c *Config) cells() int          { return cmp.Or(c.Cells, defaultCells) }

// Check returns the first field with a wrong value, and why.
func (c *Config) Check() (field string, err error) {
	if n := len(c.Hubs); n < 1 || n > maxHubs {
		return "hubs", fmt.Errorf("hubs: it needs from 1 to %d of them", maxHubs)
	}
	for _, h := range c.Hubs {
		switch bad := h.Namespaces.Bad(); {
		case h.TokenFile == "":
			return "hubs", fmt.Errorf("hubs: each needs a token_file")
		case bad != "":
			return "hubs", fmt.Errorf("hubs: namespaces: %s is no pattern such as hub-*", bad)
		case len(c.Hubs) > 1 && h.Namespaces == "" && !h.MachineUsers:
			return "hubs", fmt.Errorf("hubs: of several, each needs its namespaces: two may have users of one name")
		}
	}
	if keep := c.keep(); keep < minKeep || keep > maxKeep {
		return "keep", fmt.Errorf("keep: %v is not from %v to %v", keep, minKeep, maxKeep)
	}
	if cells := c.cells(); cells < 1 || cells > maxCells {
		return "cells", fmt.Errorf("cells: %d is not from 1 to %d", cells, maxCells)
	}
	return "", nil
}

// sees reports whether a hub may ask about somebody.
func (h *Hub) sees(p person, several bool) bool {
	if p.namespace == "" && h.MachineUsers {
		return true
	}
	return !p.machine && (h.Namespaces != "" || !several) && h.Namespaces.Match(p.namespace)
}

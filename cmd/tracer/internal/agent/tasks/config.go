// Package tasks follows the tasks of Dask's workers: which experiments of a process are tasks, which cell submitted
// them, and what the workers ask on their lines. Names, ids and arguments are the processes' own: a user can forge all
// of them, and everything that is kept of them has a bound.
package tasks

import "fmt"

// Config is the section of the configuration for workers of Dask. Fields have their YAML names.
type Config struct {
	// Off: no workers are looked for, and no tasks are windows. It is read at the start only.
	Off bool `yaml:"off"`
	// PerUser is the most processes of `dask worker` of one user that are traced at a time.
	PerUser int `yaml:"per_user"`
}

// DefaultConfig returns the section without a file. mostPerUser is the greatest value of PerUser.
func DefaultConfig() Config { return Config{PerUser: 8} }

const mostPerUser = 64

// Check returns the field that is wrong, and why.
func (c *Config) Check() (field string, err error) {
	if c.PerUser < 1 || c.PerUser > mostPerUser {
		return "per_user", fmt.Errorf("%d is not from 1 to %d", c.PerUser, mostPerUser)
	}
	return "", nil
}

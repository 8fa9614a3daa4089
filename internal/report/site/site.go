// Package site has the page that opens recordings in a browser, as files for any web server. Programs of a release
// carry them; command site makes them.
package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNone says that this program carries no site.
var ErrNone = errors.New("this program carries no page for web servers: that of a release does, " +
	"and 'make site' writes it where the sources are")

// Prepare makes a folder for the site. It fails if the folder has anything in it.
func Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty", dir))
	}
	return nil
}

// Write writes files into a folder, by name.
func Write(files map[string][]byte, dir string) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

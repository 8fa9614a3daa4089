//go:build !site

package site

// Files fails with [ErrNone]: this program carries no site.
func Files() (map[string][]byte, error) { return nil, ErrNone }

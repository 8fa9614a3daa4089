//go:build site

package site

import "embed"

// carried are the files of the site (cmd/site), which scripts/build.sh puts here with CARRY_SITE.
//
//go:embed files
var carried embed.FS

// Files returns the content of each file of the site, by name. It fails with [ErrNone] if this program carries none.
func Files() (map[string][]byte, error) {
	entries, err := carried.ReadDir("files")
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for _, e := range entries {
		if content[e.Name()], err = carried.ReadFile("files/" + e.Name()); err != nil {
			return nil, err
		}
	}
	return content, nil
}

//go:build !cgo && nvidia

package gpu

import _ "embed"

// carried is the program in nvidia/, built with cgo and compressed by gzip (scripts/build.sh).
//
//go:embed nvidia/program.gz
var carried []byte

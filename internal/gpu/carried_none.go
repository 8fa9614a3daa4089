//go:build cgo || !nvidia

package gpu

// carried is no program.
var carried []byte

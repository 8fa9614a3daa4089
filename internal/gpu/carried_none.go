//go:build cgo || !nvidia

package gpu

// carried is empty: this build carries no program.
var carried []byte

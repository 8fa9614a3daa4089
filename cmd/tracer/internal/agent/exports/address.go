package exports

import (
	"errors"
	"net"
	"net/url"
)

// Mistakes in an address. Their texts have nothing of it: a password may stand there.
var (
	ErrSecret = errors.New("a user, a password or a query has no place in it: headers_file is for tokens")
	ErrClear  = errors.New("http:// to another machine sends everything in clear text; write https://, " +
		"or insecure: true if that is meant")
)

// Address returns the address of an engine. The error is odd where the text is no address of HTTP, and otherwise says
// what has no place in it. insecure allows http:// to another machine.
func Address(text string, insecure bool, odd error) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, odd
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, ErrSecret
	case u.Scheme == "http" && !insecure && !isLocal(u.Hostname()):
		return nil, ErrClear
	}
	return u, nil
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

package users

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// token is the secret of a hub, in a file that is read again now and then: tokens change. No error has a part of it.
// After an error nobody has the token, until it can be read again.
type token struct {
	name string
	open func(string) (*os.File, error)

	mu   sync.Mutex
	sum  [sha256.Size]byte
	none bool      // there is no token that could be presented
	read time.Time // when it was last read
}

// Bounds on a token, in bytes, and how old it may be.
const (
	minToken = 32
	maxToken = 1024
	tokenAge = time.Minute
)

// Mistakes in a file with a token.
var (
	errTokenKind  = errors.New("it is no plain file")
	errTokenMode  = errors.New("others than its owner and group can read or write it; chmod o= FILE")
	errTokenChars = fmt.Errorf("a token has from %d to %d letters, digits and other visible characters of ASCII: "+
		"openssl rand -hex 32", minToken, maxToken)
)

// newToken reads a token.
func newToken(name string, open func(string) (*os.File, error)) (*token, error) {
	t := &token{name: name, open: open}
	return t, t.renew(time.Now())
}

// renew reads the token again, if it is old.
func (t *token) renew(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.read.IsZero() && now.Sub(t.read) < tokenAge {
		return nil
	}
	t.read, t.none = now, true
	text, err := readToken(t.name, t.open)
	if err != nil {
		return fmt.Errorf("token_file: %s: %w", t.name, err)
	}
	t.sum, t.none = sha256.Sum256(text), false
	return nil
}

// readToken returns the token in a file.
func readToken(name string, open func(string) (*os.File, error)) ([]byte, error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errTokenKind
	case st.Mode().Perm()&0o007 != 0:
		return nil, errTokenMode
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken+3))
	if err != nil {
		return nil, err
	}
	text = bytes.TrimRight(text, "\r\n")
	if len(text) < minToken || len(text) > maxToken ||
		bytes.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errTokenChars
	}
	return text, nil
}

// is reports whether a text is the token. How long that takes says nothing about the token.
func (t *token) is(text string) bool {
	sum := sha256.Sum256([]byte(text))
	t.mu.Lock()
	defer t.mu.Unlock()
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 && !t.none
}

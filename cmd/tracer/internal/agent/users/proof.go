package users

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A hub on another machine and an agent prove to each other that they have the same token, without sending it. So
// somebody who listens in an agent's place can neither ask the agent later nor forge an answer.
//
//	hub:   GET /hub/prove?address=ADDRESS&nonce=N
//	agent: {"nonce": A, "proofs": [HMAC(agent, ADDRESS, N, A), …]}, one of each hub that it knows
//	hub:   GET /hub/user?name=NAME, Authorization: Proof ADDRESS N A HMAC(hub, ADDRESS, N, A, NAME)
//	agent: the answer, Proof: HMAC(answer, ADDRESS, N, A, SHA-256 of the answer)
//
// ADDRESS is the address to which the hub has connected. The agent accepts only its own addresses, so nobody between
// the two can pass on their messages.

// ProvePath is where a hub asks an agent to prove that it has the hub's token.
const ProvePath = "/hub/prove"

const (
	scheme      = "Proof "
	proofHeader = "Ipytracer-Proof"
	nonceSize   = 32               // hexadecimal digits of a hub's nonce
	nonceAge    = 20 * time.Second // the greatest age of an agent's nonce
	maxAddress  = 300              // bytes
)

// prover makes and checks the nonces of an agent.
type prover struct{ secret [32]byte }

func newProver() (p prover) {
	_, _ = rand.Read(p.secret[:]) // it never fails
	return p
}

// nonce returns this agent's nonce for a hub's nonce at a time. The agent computes nonces instead of keeping them, so
// that nobody can crowd out a hub's nonce by asking for many.
func (p *prover) nonce(hub string, at time.Time) string {
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(at.Unix()))
	return hex.EncodeToString(stamp[:]) + sign(p.secret[:], "nonce", hex.EncodeToString(stamp[:]), hub)
}

// isOwnNonce reports whether this agent has made a nonce for a hub's nonce, within the last nonceAge.
func (p *prover) isOwnNonce(nonce, hub string, now time.Time) bool {
	stamp, err := hex.DecodeString(nonce[:min(len(nonce), 16)])
	if err != nil || len(stamp) != 8 {
		return false
	}
	at := time.Unix(int64(binary.BigEndian.Uint64(stamp)), 0)
	age := now.Sub(at)
	return age >= -time.Second && age <= nonceAge && hmac.Equal([]byte(nonce), []byte(p.nonce(hub, at)))
}

// sign returns the HMAC of texts in hexadecimal digits. The texts must not have line breaks.
func sign(key []byte, texts ...string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(strings.Join(texts, "\n")))
	return hex.EncodeToString(m.Sum(nil))
}

// sign signs texts with the token's hash as the key. It returns "" if the token could not be read.
func (t *token) sign(texts ...string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.missing {
		return ""
	}
	return sign(t.sum[:], texts...)
}

// isOwn reports whether an address is this agent's: the local one of a request, or one of the configuration.
func (k *Keeper) isOwn(r *http.Request, address string) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return len(address) <= maxAddress &&
		(local != nil && address == local.String() || slices.Contains(k.options.Config.Addresses, address))
}

// Prove answers a hub with proofs that the agent has the tokens of its hubs.
func (k *Keeper) Prove(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	query := r.URL.Query()
	address, nonce := query.Get("address"), query.Get("nonce")
	if !k.isOwn(r, address) || len(nonce) != nonceSize || strings.Trim(nonce, "0123456789abcdef") != "" {
		http.Error(w, "this agent is not at that address (hub_page.addresses), or that is no nonce",
			http.StatusBadRequest)
		return
	}
	answer := struct {
		Nonce  string   `json:"nonce"`
		Proofs []string `json:"proofs"`
	}{Nonce: k.prover.nonce(nonce, k.now())}
	for _, t := range k.tokens {
		k.renew(t)
		answer.Proofs = append(answer.Proofs, t.sign("agent", address, nonce, answer.Nonce))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// provenAsker is a hub that has proven to have its token.
type provenAsker struct {
	hub         *Hub
	token       *token   // nil if the hub has sent the token itself
	signedTexts []string // the first texts of the signature of the answer
}

// provenHub returns the hub whose proof for a user's name a request has, nil if there is none. It compares with all
// tokens.
func (k *Keeper) provenHub(r *http.Request, name string) (asker *provenAsker) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return nil
	}
	text, isProof := strings.CutPrefix(values[0], scheme)
	parts := strings.Split(text, " ")
	if !isProof || len(parts) != 4 || strings.ContainsAny(name, "\n") {
		return nil
	}
	address, nonce, own, proof := parts[0], parts[1], parts[2], parts[3]
	if !k.isOwn(r, address) || !k.prover.isOwnNonce(own, nonce, k.now()) {
		return nil
	}
	for i, t := range k.tokens {
		k.renew(t)
		want := t.sign("hub", address, nonce, own, name)
		if want != "" && hmac.Equal([]byte(want), []byte(proof)) {
			asker = &provenAsker{&k.options.Config.Hubs[i], t, []string{"answer", address, nonce, own}}
		}
	}
	return asker
}

// signAnswer adds the header that proves who has made an answer.
func (p *provenAsker) signAnswer(h http.Header, text []byte) {
	sum := sha256.Sum256(text)
	h.Set(proofHeader, p.token.sign(append(slices.Clone(p.signedTexts), hex.EncodeToString(sum[:]))...))
}

// token is the secret of a hub, in a file that is read again now and then, since tokens change. No error has a part of
// the token. While the file cannot be read, no token matches.
type token struct {
	name string
	open func(string) (*os.File, error)

	mu      sync.Mutex
	sum     [sha256.Size]byte
	missing bool      // the file could not be read
	read    time.Time // when it was last read
}

const (
	minToken = 32          // bytes
	maxToken = 1024        // bytes
	tokenAge = time.Minute // at which it is read again
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
	t.read, t.missing = now, true
	text, err := readToken(t.name, t.open)
	if err != nil {
		return fmt.Errorf("token_file: %s: %w", t.name, err)
	}
	t.sum, t.missing = sha256.Sum256(text), false
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

// equals reports whether a text is the token, in a time that says nothing about the token.
func (t *token) equals(text string) bool {
	sum := sha256.Sum256([]byte(text))
	t.mu.Lock()
	defer t.mu.Unlock()
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 && !t.missing
}

package users

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const nonce = "00112233445566778899aabbccddeeff"

// through asks a keeper at an address.
func through(k *Keeper, at, path string, query url.Values, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path+"?"+query.Encode(), nil)
	local, _ := net.ResolveTCPAddr("tcp", at)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local)))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	if path == ProvePath {
		k.Prove(w, r)
	} else {
		k.ServeNetwork(w, r)
	}
	return w
}

// proves returns the nonce and the proofs of a keeper.
func proves(t *testing.T, k *Keeper, at string) (own string, proofs []string) {
	t.Helper()
	w := through(k, at, ProvePath, url.Values{"address": {at}, "nonce": {nonce}}, "")
	var answer struct {
		Nonce  string
		Proofs []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(w.Code, w.Body, err)
	}
	return answer.Nonce, answer.Proofs
}

// TestProof: an agent proves that it has the token, a hub that does gets an answer, and the answer proves whose it is.
// Neither sends the token.
func TestProof(t *testing.T) {
	k := newStage(t).Keeper
	const at = "10.0.0.1:9466"
	key := sha256.Sum256([]byte(secret))
	own, proofs := proves(t, k, at)
	if !slices.Contains(proofs, sign(key[:], "agent", at, nonce, own)) {
		t.Errorf("%q", proofs)
	}
	ask := func(at, name string, parts ...string) *httptest.ResponseRecorder {
		return through(k, at, Path, url.Values{"name": {name}}, scheme+strings.Join(parts, " "))
	}
	good := []string{at, nonce, own, sign(key[:], "hub", at, nonce, own, "ann")}
	w := ask(at, "ann", good...)
	sum := sha256.Sum256(w.Body.Bytes())
	want := sign(key[:], "answer", at, nonce, own, hex.EncodeToString(sum[:]))
	if w.Code != http.StatusOK || w.Header().Get(proofHeader) != want {
		t.Errorf("%d, %q, not %q", w.Code, w.Header().Get(proofHeader), want)
	}
	if strings.Contains(w.Body.String()+strings.Join(proofs, ""), secret) {
		t.Error("the token is sent")
	}
	other := slices.Clone(good)
	other[0] = "10.0.0.2:9466"
	late := newProver().nonceOf(nonce, k.now())
	for what, code := range map[string]int{
		"another name":         ask(at, "bob", good...).Code,
		"another address":      ask("10.0.0.2:9466", "ann", good...).Code,
		"its own address":      ask("10.0.0.2:9466", "ann", other...).Code,
		"another agent's":      ask(at, "ann", at, nonce, late, sign(key[:], "hub", at, nonce, late, "ann")).Code,
		"another token":        ask(at, "ann", at, nonce, own, sign([]byte("x"), "hub", at, nonce, own, "ann")).Code,
		"the agent's proof":    ask(at, "ann", at, nonce, own, proofs[0]).Code,
		"no proof":             ask(at, "ann", at, nonce, own).Code,
		"nothing":              ask(at, "ann").Code,
		"the token":            through(k, at, Path, url.Values{"name": {"ann"}}, "Bearer "+secret).Code,
		"two names in one":     ask(at, "ann\nx", good...).Code,
		"a short nonce":        ask(at, "ann", at, nonce, own[:9], good[3]).Code,
		"no nonce":             ask(at, "ann", at, nonce, "", good[3]).Code,
		"a nonce of no digits": ask(at, "ann", at, nonce, strings.Repeat("z", len(own)), good[3]).Code,
	} {
		if code != http.StatusForbidden {
			t.Errorf("%s: %d", what, code)
		}
	}
	tooLate := k.now().Add(nonceAge + 2*time.Second)
	k.now = func() time.Time { return tooLate }
	if code := ask(at, "ann", good...).Code; code != http.StatusForbidden {
		t.Errorf("a nonce that is too old: %d", code)
	}
}

func (p prover) nonceOf(hub string, at time.Time) string { return p.nonce(hub, at) }

// TestProveElsewhere: an agent proves nothing for an address that is not its own: somebody between a hub and an agent
// cannot pass on what they say. One of the configuration is its own.
func TestProveElsewhere(t *testing.T) {
	k := newStage(t).Keeper
	k.options.Config.Addresses = []string{"agent.example.org:443"}
	for address, want := range map[string]int{
		"10.0.0.1:9466": http.StatusOK, "agent.example.org:443": http.StatusOK, "127.0.0.1:9466": http.StatusBadRequest,
		"10.0.0.1:9467": http.StatusBadRequest, "": http.StatusBadRequest,
		strings.Repeat("x", 5000): http.StatusBadRequest,
	} {
		w := through(k, "10.0.0.1:9466", ProvePath, url.Values{"address": {address}, "nonce": {nonce}}, "")
		if w.Code != want {
			t.Errorf("%.40q: %d", address, w.Code)
		}
	}
	for _, bad := range []string{"", "00", nonce + "0", strings.Repeat("\n", 32), strings.ToUpper(nonce)} {
		query := url.Values{"address": {"10.0.0.1:9466"}, "nonce": {bad}}
		if w := through(k, "10.0.0.1:9466", ProvePath, query, ""); w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", bad, w.Code)
		}
	}
}

// TestSocketOfConfig: hubs ask at a socket in a folder that root alone can make, unless the configuration has another.
func TestSocketOfConfig(t *testing.T) {
	hub := []Hub{{TokenFile: "/x"}}
	for _, one := range []struct {
		c     Config
		field string
	}{
		{Config{Hubs: hub}, ""}, {Config{Hubs: hub, Socket: Off}, ""}, {Config{Hubs: hub, Socket: "/run/x.sock"}, ""},
		{Config{Hubs: hub, Socket: "x.sock"}, "socket"}, {Config{Hubs: hub, Socket: "/run/../x"}, "socket"},
		{Config{Hubs: hub, Users: []string{"root", "1000"}}, ""}, {Config{Hubs: hub, Users: []string{"-1"}}, "users"},
		{Config{Hubs: hub, Users: []string{"nobody at all"}}, "users"}, {Config{Hubs: hub, Listen: ":9466"}, ""},
		{Config{Hubs: hub, Listen: "9466"}, "listen"}, {Config{Hubs: hub, Addresses: []string{"x"}}, "addresses"},
	} {
		if field, err := one.c.Check(); (err == nil) != (one.field == "") || err != nil && field != one.field {
			t.Errorf("%+v: %q, %v", one.c, field, err)
		}
	}
	c := Config{Users: []string{"12345"}}
	if may := c.Admits(); !may(0) || !may(12345) || may(12346) {
		t.Error("others than root and the named ones")
	}
	none, off := &Config{}, &Config{Socket: Off}
	if none.Admits() != nil || none.SocketPath() != DefaultSocket || off.SocketPath() != "" {
		t.Error("without users the mode says who may")
	}
}

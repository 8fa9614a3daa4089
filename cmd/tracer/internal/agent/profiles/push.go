package profiles

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/report/escape"
)

// batch are profiles of one kernel that are pushed together.
type batch struct {
	of       *record
	users    bool
	profiles [][]byte
	size     int
}

// maxBatch is the most bytes of a batch's profiles, compressed.
const maxBatch = 1 << 20

// pusher pushes profiles to Pyroscope, one request at a time. A request that may have arrived is never sent again:
// Pyroscope adds the same profile a second time.
type pusher struct {
	to      *url.URL
	version string
	kind    string // of content
	packing string // of content, "" for none
	headers *exports.Headers
	client  *http.Client
	pause   time.Duration // between attempts to connect
}

// Bounds on a push.
const (
	pushTime   = 10 * time.Second
	maxAnswer  = 64 << 10
	attempts   = 3
	usualPause = 5 * time.Second
)

// newPusher returns a pusher. Nothing in the environment decides about it, and no answer leads to another address: the
// headers have tokens.
func newPusher(to *url.URL, headersFile string, secure *tls.Config, o *Options) (*pusher, error) {
	headers, err := exports.NewHeaders(headersFile, o.Open)
	if err != nil {
		return nil, err
	}
	p := &pusher{to: to, version: o.Version, headers: headers, kind: "application/json", pause: usualPause}
	p.client = &http.Client{
		Timeout: pushTime,
		Transport: &http.Transport{
			TLSClientConfig: secure,
			DialContext:     (&net.Dialer{Timeout: pushTime}).DialContext, TLSHandshakeTimeout: pushTime,
			ResponseHeaderTimeout: pushTime, IdleConnTimeout: 2 * time.Minute, MaxConnsPerHost: 1,
			MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// message is push.v1.PushRequest, as JSON has it.
type message struct {
	Series []series `json:"series"`
}

type series struct {
	Labels  []label  `json:"labels"`
	Samples []sample `json:"samples"`
}

type label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type sample struct {
	RawProfile []byte `json:"rawProfile"`
}

// push pushes a batch. reason is why it is dropped, "" where Pyroscope has taken it.
func (p *pusher) push(ctx context.Context, b *batch) (reason string, err error) {
	one := series{Labels: labelsOf(b.of.kernel, b.users)}
	for _, raw := range b.profiles {
		one.Samples = append(one.Samples, sample{raw})
	}
	body, err := json.Marshal(message{[]series{one}})
	if err != nil {
		return exports.Refused, err
	}
	return p.post(ctx, body)
}

// post posts a body. reason is why it is dropped, "" where the engine has taken it.
func (p *pusher) post(ctx context.Context, body []byte) (reason string, err error) {
	for n := 1; ; n++ {
		reason, err = p.attempt(ctx, body)
		if !neverArrived(err) || n == attempts {
			return reason, err
		}
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
			return reason, err
		}
	}
}

// neverArrived reports whether there was no connection for a request.
func neverArrived(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func (p *pusher) attempt(ctx context.Context, body []byte) (reason string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to.String(), bytes.NewReader(body))
	if err != nil {
		return exports.Refused, err
	}
	for name, value := range p.headers.All() {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", p.kind)
	if p.packing != "" {
		request.Header.Set("Content-Encoding", p.packing)
	}
	request.Header.Set("User-Agent", "ipytracer/"+p.version)
	answer, err := p.client.Do(request)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) { // the rest of the text is the engine's own, or the address
			return exports.Unreachable, op
		}
		return exports.Unreachable, errNoAnswer
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch {
	case answer.StatusCode/100 == 2:
		return "", nil
	case answer.StatusCode/100 == 5:
		return exports.Unreachable, fmt.Errorf("%w %d", errStatus, answer.StatusCode)
	}
	return exports.Refused, fmt.Errorf("%w %d", errStatus, answer.StatusCode)
}

// Texts of errors. An engine's own text is not shown: it may repeat a token.
var (
	errNoAnswer = errors.New("no answer, or none that HTTP allows")
	errStatus   = errors.New("the answer has status")
)

// labelsOf returns the labels of a kernel's series: as many and as bounded as those at /metrics. Pyroscope would take
// what is in a heap profile for differences, but for __delta__.
func labelsOf(k *telemetry.Kernel, users bool) (all []label) {
	o := k.Owner
	if !users {
		o.User = ""
	}
	for _, one := range []label{
		{"__name__", "memory"}, {"__delta__", "false"}, {"service_name", "ipytracer"},
		{"namespace", o.Namespace}, {"pod", o.Pod}, {"container", o.Container}, {"user", o.User},
		{"kernel", strconv.Itoa(int(k.Slot))},
	} {
		if one.Value = bounded(one.Value); one.Value != "" {
			all = append(all, one)
		}
	}
	return all
}

func bounded(text string) string {
	return strings.ToValidUTF8(escape.Bounded(text, telemetry.MaxLabel), "?")
}

// CheckFiles reads the file that a configuration names, and returns its first mistake.
func (c *Config) CheckFiles(open func(string) (*os.File, error)) error {
	_, err := exports.NewHeaders(c.HeadersFile, open)
	return err
}

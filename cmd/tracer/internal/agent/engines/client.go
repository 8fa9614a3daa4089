package engines

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
)

// answer is the receiver's answer to the last request. One request is made at a time.
type answer struct {
	came   bool // there was one
	taken  bool // it says that the spans were taken, but for those that the error counts
	again  bool // it says that the spans may be sent again
	denied bool // it says that the headers are not right
	code   string
}

// maxAnswer is the most of an answer that is read, in bytes.
const maxAnswer = 64 << 10

// newClient returns the SDK's client for a configuration. It writes down each answer at last.
func newClient(c *Spans, h *Headers, open func(string) (*os.File, error), last *answer) (
	otlptrace.Client, error) {
	secure, err := c.tls(open)
	if err != nil {
		return nil, err
	}
	to, err := c.address()
	if err != nil {
		return nil, err
	}
	if c.Protocol == GRPC {
		return newGRPC(to, c, secure, h, last)
	}
	return newHTTP(to, c, secure, h, last), nil
}

// maxCA is the greatest size of a file of certificates, in bytes.
const maxCA = 1 << 20

var errCA = errors.New("it has no certificate in PEM")

func (c *Spans) tls(open func(string) (*os.File, error)) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile == "" {
		return out, nil
	}
	f, err := open(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxCA))
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	out.RootCAs = x509.NewCertPool()
	if !out.RootCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("ca_file: %s: %w", c.CAFile, errCA)
	}
	return out, nil
}

// CheckFiles reads the files that a configuration names, and returns the first mistake.
func (c *Spans) CheckFiles(open func(string) (*os.File, error)) error {
	if _, err := c.tls(open); err != nil {
		return err
	}
	_, err := NewHeaders(c.HeadersFile, open)
	return err
}

// stop ends a client's connections.
func stop(c otlptrace.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is under way
	_ = c.Stop(ctx)
}

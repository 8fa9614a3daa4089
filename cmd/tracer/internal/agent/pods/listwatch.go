package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Bounds on answers of the API server.
const (
	maxObject    = 4 << 20          // of one pod, in bytes; etcd keeps 1.5 MiB
	maxList      = 256 << 20        // of all pods of a node
	maxRefusal   = 64 << 10         // of an answer other than 200
	answerTime   = 30 * time.Second // until an answer begins
	listTime     = time.Minute
	watchTime    = 15 * time.Minute // the server is asked to end a watch after 5 to 10
	watchesApart = time.Second
)

// source lists and watches the pods of a node, for client-go's reflector. It decodes one pod at a time and keeps only
// what [Pod] has, so that a list is never in memory as a whole.
type source struct {
	client    *client
	wanted    Wanted
	health    *health
	bounds    bounds
	lastWatch time.Time // when the last watch began
}

// bounds are the bounds that tests make smaller.
type bounds struct {
	list   int64         // of a list, in bytes
	answer time.Duration // until an answer begins
	apart  time.Duration // between the beginnings of two watches
}

// IsWatchListSemanticsUnSupported makes the reflector list the pods first, and then watch them.
func (*source) IsWatchListSemanticsUnSupported() bool { return true }

// List is never called, since the reflector prefers ListWithContext.
func (s *source) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

// Watch is never called, since the reflector prefers WatchWithContext.
func (s *source) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// ListWithContext lists the pods.
func (s *source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	// Without a limit, and with the reflector's version 0, the server answers from its memory.
	all, err := s.list(ctx, url.Values{"resourceVersion": {o.ResourceVersion}})
	s.health.note(ctx, err)
	return all, err
}

func (s *source) list(ctx context.Context, query url.Values) (*list, error) {
	body, err := s.get(ctx, query)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	pods := &list{}
	in := &boundedReader{r: io.LimitReader(body, s.bounds.list)}
	d := &listDecoder{Decoder: json.NewDecoder(in), in: in}
	pods.ResourceVersion, err = d.decode(func(w *wirePod) {
		if p, ok := w.strip(s.client.node, &s.wanted); ok {
			if len(pods.Items) >= maxPods {
				s.health.refuse()
				return
			}
			pods.Items = append(pods.Items, newObject(p, w.Metadata.ResourceVersion))
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNonsense, err)
	}
	return pods, nil
}

// errNonsense says that the API server's answer is not what Kubernetes answers.
var errNonsense = errors.New("an answer of the API server is no list of pods")

// WatchWithContext watches the pods.
func (s *source) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	select { // wait, since the server may end each watch at once
	case <-time.After(time.Until(s.lastWatch.Add(s.bounds.apart))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.lastWatch = time.Now()
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	query := url.Values{"watch": {"true"}, "resourceVersion": {o.ResourceVersion}, "allowWatchBookmarks": {"true"}}
	if o.TimeoutSeconds != nil {
		query.Set("timeoutSeconds", strconv.FormatInt(*o.TimeoutSeconds, 10))
	}
	body, err := s.get(ctx, query)
	s.health.note(ctx, err)
	if err != nil {
		cancel()
		return nil, err
	}
	in := &boundedReader{r: body}
	e := &events{json: json.NewDecoder(in), in: in, source: s, ctx: ctx, end: func() { cancel(); body.Close() }}
	return watch.NewStreamWatcher(e, e), nil
}

var errLate = errors.New("no answer has begun in time")

// get returns the body of the server's answer. An answer other than 200 is an error of package [apierrors].
func (s *source) get(ctx context.Context, query url.Values) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(s.bounds.answer, func() { cancel(errLate) })
	defer late.Stop()
	request, err := s.client.request(ctx, query)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.http.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return &closingBody{answer.Body, func() { cancel(nil) }}, nil
	}
	defer cancel(nil)
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxRefusal)) // so that the connection can be used again
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return nil, apierrors.NewGenericServerResponse(answer.StatusCode, "get", schema.GroupResource{Resource: "pods"},
		"", "", after, false)
}

// closingBody is a body that calls end when it is closed.
type closingBody struct {
	io.ReadCloser
	end func()
}

func (c *closingBody) Close() error {
	c.end()
	return c.ReadCloser.Close()
}

// boundedReader reads at most maxObject bytes from one call of next to the following one.
type boundedReader struct {
	r         io.Reader
	remaining int
}

var errTooLarge = errors.New("an object is larger than 4 MiB")

// next lets the next object be read.
func (b *boundedReader) next() { b.remaining = maxObject }

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}

var errNoList = errors.New("it is not in the form of a list")

// listDecoder decodes a list of pods, one pod at a time.
type listDecoder struct {
	*json.Decoder
	in *boundedReader
}

// decode calls each for each pod, and returns the version of the list.
func (d *listDecoder) decode(each func(*wirePod)) (version string, err error) {
	d.in.next()
	if err := d.expect(json.Delim('{')); err != nil {
		return "", err
	}
	for d.More() {
		d.in.next()
		key, err := d.Token()
		if err != nil {
			return "", err
		}
		var meta struct{ ResourceVersion string }
		switch key {
		case "items":
			err = d.items(each)
		case "metadata":
			err = d.Decode(&meta)
			version = meta.ResourceVersion
		default:
			err = d.Decode(&json.RawMessage{})
		}
		if err != nil {
			return "", err
		}
	}
	if version == "" {
		return "", errors.New("it has no version")
	}
	return version, d.expect(json.Delim('}'))
}

// items decodes the list's field items.
func (d *listDecoder) items(each func(*wirePod)) error {
	first, err := d.Token()
	if err != nil || first == nil { // null
		return err
	}
	if first != json.Delim('[') {
		return errNoList
	}
	for d.More() {
		d.in.next()
		var w wirePod
		if err := d.Decode(&w); err != nil {
			return err
		}
		each(&w)
	}
	return d.expect(json.Delim(']'))
}

func (d *listDecoder) expect(delimiter json.Delim) error {
	token, err := d.Token()
	if err == nil && token != delimiter {
		err = errNoList
	}
	return err
}

// events decodes a watch, an event at a time.
type events struct {
	json   *json.Decoder
	in     *boundedReader
	source *source
	ctx    context.Context
	end    func()
}

// Decode implements [watch.Decoder]. It skips pods that are not kept.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	for {
		kind, object, err := e.decode()
		switch {
		case err == nil && object == nil:
			continue
		case err == nil, errors.Is(err, io.EOF):
		case e.ctx.Err() != nil: // the watch was ended from here
			err = io.EOF
		default:
			err = fmt.Errorf("%w: %w", errNonsense, err)
			e.source.health.note(e.ctx, err)
		}
		return kind, object, err
	}
}

// decode returns the next event; nil for a pod that is not kept.
func (e *events) decode() (watch.EventType, runtime.Object, error) {
	e.in.next()
	var next struct {
		Type   watch.EventType
		Object json.RawMessage
	}
	if err := e.json.Decode(&next); err != nil {
		return "", nil, err
	}
	switch next.Type {
	case watch.Error:
		var refusal metav1.Status
		if err := json.Unmarshal(next.Object, &refusal); err != nil {
			return "", nil, err
		}
		err := apierrors.NewGenericServerResponse(int(refusal.Code), "watch", schema.GroupResource{Resource: "pods"},
			"", "", 0, false)
		e.source.health.note(e.ctx, err)
		return watch.Error, &err.ErrStatus, nil
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	default:
		return "", nil, errors.New("an event of an unknown kind")
	}
	var w wirePod
	if err := json.Unmarshal(next.Object, &w); err != nil {
		return "", nil, err
	}
	p, ok := w.strip(e.source.client.node, &e.source.wanted)
	if !ok && next.Type != watch.Bookmark {
		return "", nil, nil
	}
	o := newObject(p, w.Metadata.ResourceVersion)
	return next.Type, &o, nil
}

// Close implements [watch.Decoder].
func (e *events) Close() { e.end() }

// AsObject implements [watch.Reporter]. After any error of a watch, its result makes the reflector list the pods again.
func (e *events) AsObject(error) runtime.Object {
	err := apierrors.NewGenericServerResponse(http.StatusGone, "watch", schema.GroupResource{Resource: "pods"},
		"", "", 0, false)
	return &err.ErrStatus
}

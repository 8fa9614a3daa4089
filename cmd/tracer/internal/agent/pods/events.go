package pods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// events decodes a watch, an event at a time.
type events struct {
	json   *json.Decoder
	in     *bounded
	source *source
	ctx    context.Context
	end    func()
}

// Decode implements [watch.Decoder]. Pods that are not kept are passed over.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	for {
		kind, one, err := e.decode()
		switch {
		case err == nil && one == nil:
			continue
		case err == nil, errors.Is(err, io.EOF):
		case e.ctx.Err() != nil: // it was ended from here
			err = io.EOF
		default:
			err = fmt.Errorf("%w: %w", errNonsense, err)
			e.source.health.heard(e.ctx, err)
		}
		return kind, one, err
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
		e.source.health.heard(e.ctx, err)
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

// AsObject implements [watch.Reporter]: a watch that is nonsense begins again with a list.
func (e *events) AsObject(error) runtime.Object {
	err := apierrors.NewGenericServerResponse(http.StatusGone, "watch", schema.GroupResource{Resource: "pods"},
		"", "", 0, false)
	return &err.ErrStatus
}

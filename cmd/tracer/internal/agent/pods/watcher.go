package pods

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Wanted are the keys of labels and annotations that are kept of each pod.
type Wanted struct {
	Labels, Annotations []string
}

// Options are what a [Watcher] needs beside its configuration.
type Options struct {
	Wanted  Wanted
	Version string
	Log     *slog.Logger
	// Open opens the files that the configuration names.
	Open func(name string) (*os.File, error)
	// Changed is called after pods came, went or changed. It must return soon.
	Changed func()
}

// Watcher knows the pods of this node.
type Watcher struct {
	series
	source *source
	pace   *wait.Backoff // between attempts; nil: client-go's, from 0.8 s to 30 s
}

// New returns a watcher; [Watcher.Run] starts it. It fails if the configuration cannot be used.
func New(c Config, o Options) (*Watcher, error) {
	client, err := newClient(c, o.Version, o.Open)
	if err != nil {
		return nil, err
	}
	h := &health{log: o.Log, now: time.Now, advise: advice, recovered: "Kubernetes answers again: pods have names"}
	return &Watcher{
		series: series{"kubernetes", [Series]string{
			"1 if Kubernetes' API server answers, so that pods have names.", "Pods of this node that are known.",
			"Times that a pod had no room.",
		}, newStore(h, o.Changed), h},
		source: &source{
			client: client, wanted: o.Wanted, health: h, bounds: bounds{maxList, answerTime, watchesApart},
		},
	}, nil
}

// silence keeps client-go from writing to standard error: each mistake is logged by [health].
var silence = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// Run lists and watches the pods until the context is done.
func (w *Watcher) Run(ctx context.Context) {
	silence()
	ctx = klog.NewContext(ctx, logr.Discard())
	options := cache.ReflectorOptions{Name: "pods", Backoff: w.pace}
	cache.NewReflectorWithOptions(w.source, nil, w.store, options).RunWithContext(ctx)
}

// Find returns the pod with a UID, and the name of its container with an ID, "" if that is unknown. Deleted pods stay
// known for [keepDeleted].
func (w *Watcher) Find(uid, container string) (p Pod, name string, known bool) {
	p, known = w.store.find(uid)
	return p, p.containers[container], known
}

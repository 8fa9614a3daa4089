package instruments

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/python/numpy"
)

// TestWaitAhead: an attach waits for the analysis of a file, though not for ever.
func TestWaitAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &process.MappedFile{}
		a := &ReadAhead{Done: make(chan struct{})}
		ahead := ModulesAhead{files: map[readFile]*ReadAhead{identify(file): a}}
		if _, err := ahead.find(1, file); !errors.Is(err, errWaitAhead) {
			t.Error(err)
		}
		time.AfterFunc(maxWaitAhead/2, func() {
			a.sites, a.Err = numpy.Sites{Handler: 7}, nil
			close(a.Done)
		})
		if sites, err := ahead.find(1, file); err != nil || sites.Handler != 7 {
			t.Errorf("%+v: %v", sites, err)
		}
	})
}

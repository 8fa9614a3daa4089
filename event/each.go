package event

import (
	"context"
	"errors"
	"io"
)

// Each passes the events of a source to do, up to the source's end. It fails with the source's error, or ctx's.
func Each(ctx context.Context, source Source, do func(Event)) error {
	for {
		e, err := source.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(e)
	}
}

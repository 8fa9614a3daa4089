package event

import (
	"context"
	"errors"
	"io"
)

// Each hands out the events of a source up to its end. An error is the source's, or ctx's.
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

package host

import (
	"context"
	"errors"
	"log/slog"
)

// both hands each log line to two: a long-lived host's requests stand in its log and in the request log (U04).
type both [2]slog.Handler

func (b both) Enabled(ctx context.Context, level slog.Level) bool {
	return b[0].Enabled(ctx, level) || b[1].Enabled(ctx, level)
}

func (b both) Handle(ctx context.Context, r slog.Record) error {
	var all []error
	for _, h := range b {
		if h.Enabled(ctx, r.Level) {
			all = append(all, h.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(all...)
}

func (b both) WithAttrs(attrs []slog.Attr) slog.Handler {
	return both{b[0].WithAttrs(attrs), b[1].WithAttrs(attrs)}
}

func (b both) WithGroup(name string) slog.Handler {
	return both{b[0].WithGroup(name), b[1].WithGroup(name)}
}

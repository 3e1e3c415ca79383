package errs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/redlatch/redlatch/internal/errs"
)

var errBusy = errors.New("busy")

func TestWithout(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "x", Err: errBusy}
	err := errs.Without(fmt.Errorf("work: %w", errors.Join(path, fs.ErrClosed)), errBusy)
	var found *fs.PathError
	if errors.Is(err, errBusy) || !errors.Is(err, fs.ErrClosed) || !errors.As(err, &found) || found != path {
		t.Errorf("error is %v", err)
	}
	if want := "work: open x: busy\nfile already closed"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	for _, other := range []error{nil, fs.ErrClosed} {
		if errs.Without(other, errBusy) != other {
			t.Errorf("%v was changed", other)
		}
	}
}

func TestJoin(t *testing.T) {
	lost, again := &fs.PathError{Op: "lost", Path: "a", Err: errBusy}, &fs.PathError{Op: "lost", Path: "a", Err: errBusy}
	for _, c := range []struct {
		work, release error
		want          string
	}{
		{nil, nil, "<nil>"},
		{errBusy, nil, "busy"},
		{nil, lost, "lost a: busy"},
		{fmt.Errorf("work: %w", lost), lost, "work: lost a: busy"},
		{fmt.Errorf("work: %w", lost), errs.Told(lost, "told"), "work: lost a: busy"},
		{nil, errs.Told(lost, "told"), "lost a: busy"},
		{again, lost, "lost a: busy\nlost a: busy"}, // it may be another's
	} {
		if got := fmt.Sprint(errs.Join(c.work, c.release)); got != c.want {
			t.Errorf("%v and %v: %q, want %q", c.work, c.release, got, c.want)
		}
	}
}

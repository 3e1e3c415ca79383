// Package errs joins the errors of two things that may tell of the same, or of different locks.
package errs

import "errors"

// Without returns err so that errors.Is does not find the sentinel in it, and everything else it finds as
// before. It is for an error that wraps one about another lock.
func Without(err, sentinel error) error {
	if !errors.Is(err, sentinel) {
		return err
	}
	return without{err, sentinel}
}

// without has no Unwrap, by which errors.Is would come to the sentinel.
type without struct {
	err      error
	sentinel error
}

func (w without) Error() string { return w.err.Error() }

func (w without) Is(target error) bool { return target != w.sentinel && errors.Is(w.err, target) }

func (w without) As(target any) bool { return errors.As(w.err, target) }

// Told is err with another text, for a caller that was told of err before: errors.Join of both would
// print it twice.
func Told(err error, text string) error { return told{err, text} }

type told struct {
	err  error
	text string
}

func (t told) Error() string { return t.text }

func (t told) Unwrap() error { return t.err }

// Join is errors.Join of the error of some work and that of the release after it, which is left out if
// the work has returned it already, as it does with the cause of a ctx. If it has not, nobody was told.
func Join(work, release error) error {
	if t, is := release.(told); is {
		release = t.err
	}
	if release != nil && errors.Is(work, release) {
		return errors.Join(work)
	}
	return errors.Join(work, release)
}
